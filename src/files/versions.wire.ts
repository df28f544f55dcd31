import type { Restored, Version } from './versions.service.js';

/** snake_case with one camelCase key: the contract has it so. */
export interface VersionWire {
  id: string;
  version: number;
  content_hash: string;
  encrypted_size: number;
  device_id: string | null;
  created_at: string;
  changeCursor: number | null;
}

export interface RestoredWire {
  /** The file's id. */
  id: string;
  version: number;
  contentHash: string;
  encryptedSize: number;
}

export function versionWire(version: Version): VersionWire {
  return {
    id: version.id,
    version: version.version,
    content_hash: version.contentHash,
    encrypted_size: version.encryptedSize,
    device_id: version.deviceId,
    created_at: version.createdAt.toISOString(),
    changeCursor: version.changeCursor,
  };
}

export function restoredWire(restored: Restored): RestoredWire {
  return {
    id: restored.fileId,
    version: restored.version,
    contentHash: restored.contentHash,
    encryptedSize: restored.encryptedSize,
  };
}
