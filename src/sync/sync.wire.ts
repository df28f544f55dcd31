export interface SnapshotFileWire {
  id: string;
  encryptedPath: string;
  contentHash: string;
  encryptedSize: number;
  version: number;
  createdAt: string;
  updatedAt: string;
}

export interface ChangeWire {
  encryptedPath: string;
  action: string;
  contentHash: string;
  encryptedSize: number;
  version: number;
  changedAt: string;
  changedByDevice: string | null;
}

export interface TrashedFileWire {
  id: string;
  encrypted_path: string;
  content_hash: string;
  encrypted_size: number;
  version: number;
  deleted_at: string;
}
