import type { WorkspaceTx } from '../../platform/database/index.js';
import { NotFound } from '../../platform/http/index.js';
import { logStatements } from './files.queries.js';

/** A file row, read under the workspace lock. */
export interface FileRow {
  readonly id: string;
  readonly encryptedPath: string;
  readonly contentHash: string;
  readonly version: number;
  readonly isDeleted: boolean;
}

export interface LockedLog {
  readonly headCursor: number;
  readonly compactionFloor: number | null;
}

/**
 * Locks a workspace's log until the transaction ends. Every writer of the log calls this or locks the same row in
 * put_documents, so changes become visible in cursor order.
 * @throws NotFound when the workspace has been deleted
 */
export async function lockLog(tx: WorkspaceTx, workspaceId: string): Promise<LockedLog> {
  const [log] = await tx.run<LockedLog>(logStatements.lock, [workspaceId]);
  if (!log) throw new NotFound('workspace not found');
  return log;
}

/** Returns the files at these paths, live or deleted. Call it under the lock. */
export function lockedFilesAt(
  tx: WorkspaceTx,
  workspaceId: string,
  encryptedPaths: readonly string[],
): Promise<FileRow[]> {
  return tx.run<FileRow>(logStatements.filesAt, [workspaceId, encryptedPaths]);
}

export interface Deletion {
  readonly workspaceId: string;
  readonly deviceId: string;
  /** Ids of live files, without duplicates, in the order in which they enter the log. */
  readonly fileIds: readonly string[];
  readonly now: Date;
}

/** Soft-deletes live files, logs one tombstone each and returns the new head. Call it under the lock. */
export async function logDeletions(tx: WorkspaceTx, deletion: Deletion): Promise<number> {
  const { workspaceId, fileIds, now, deviceId } = deletion;
  const [head] = await tx.run<{ headCursor: number }>(logStatements.appendDeletions, [
    workspaceId,
    fileIds,
    now,
    deviceId,
  ]);
  if (!head) throw new Error('the log was not locked');
  return head.headCursor;
}
