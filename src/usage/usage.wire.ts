import type { StorageUsageWire } from '../assets/index.js';
import type { WorkspaceUsage } from '../files/index.js';

export interface UsageWire {
  documents: DocumentUsageWire;
  assets: StorageUsageWire;
}

export interface DocumentUsageWire {
  usedBytes: number;
  /** 0: unlimited. */
  quotaBytes: number;
  workspaces: WorkspaceUsageWire[];
}

export type WorkspaceUsageWire = WorkspaceUsage;

export function workspaceUsageWire({ id, usedBytes, files }: WorkspaceUsage): WorkspaceUsageWire {
  return { id, usedBytes, files };
}
