import type { ListedFile, Upload, Uploaded } from './files.service.js';

/** The list is snake_case, an upload's answer camelCase: the contract has it so. */
export interface FileWire {
  id: string;
  encrypted_path: string;
  content_hash: string;
  encrypted_size: number;
  version: number;
  created_at: string;
  updated_at: string;
}

export interface UploadedWire {
  id: string;
  workspaceId: string;
  encryptedPath: string;
  contentHash: string;
  encryptedSize: number;
  version: number;
}

export function fileWire(file: ListedFile): FileWire {
  return {
    id: file.id,
    encrypted_path: file.encryptedPath,
    content_hash: file.contentHash,
    encrypted_size: file.encryptedSize,
    version: file.version,
    created_at: file.createdAt.toISOString(),
    updated_at: file.updatedAt.toISOString(),
  };
}

export function uploadedWire(upload: Upload, uploaded: Uploaded): UploadedWire {
  return {
    id: uploaded.fileId,
    workspaceId: upload.workspaceId,
    encryptedPath: upload.encryptedPath,
    contentHash: upload.contentHash,
    encryptedSize: uploaded.encryptedSize,
    version: uploaded.version,
  };
}
