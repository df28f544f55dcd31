import type { ListedFile } from '../files/index.js';
import type { Change } from './sync.service.js';

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

export function snapshotFileWire(file: ListedFile): SnapshotFileWire {
  return {
    id: file.id,
    encryptedPath: file.encryptedPath,
    contentHash: file.contentHash,
    encryptedSize: file.encryptedSize,
    version: file.version,
    createdAt: file.createdAt.toISOString(),
    updatedAt: file.updatedAt.toISOString(),
  };
}

export function changeWire(change: Change): ChangeWire {
  return {
    encryptedPath: change.encryptedPath,
    action: change.action,
    contentHash: change.contentHash,
    encryptedSize: change.encryptedSize,
    version: change.version,
    changedAt: change.changedAt.toISOString(),
    changedByDevice: change.changedByDevice,
  };
}
