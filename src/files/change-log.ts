import { statement, type WorkspaceTx } from '../platform/database/index.js';
import { NotFound } from '../platform/http/index.js';

/** A file row, read under the workspace lock. */
export interface FileRow {
  readonly id: string;
  readonly encryptedPath: string;
  readonly contentHash: string;
  readonly version: number;
  readonly isDeleted: boolean;
}

const lock = statement(
  'change_log.lock',
  `SELECT head_cursor AS "headCursor", compaction_floor AS "compactionFloor"
   FROM workspaces WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`,
);

const filesAt = statement(
  'change_log.files_at',
  `SELECT id, encrypted_path AS "encryptedPath", content_hash AS "contentHash", version, is_deleted AS "isDeleted"
   FROM files WHERE workspace_id = $1 AND path_hash IN (SELECT sha256(path::bytea) FROM unnest($2::text[]) AS path)`,
);

const appendDeletions = statement(
  'change_log.append_deletions',
  `WITH gone AS (
     SELECT f.id, f.content_hash, f.encrypted_size, f.version, asked.position
     FROM unnest($2::uuid[]) WITH ORDINALITY AS asked (id, position)
     JOIN files f ON f.workspace_id = $1 AND f.id = asked.id
   ), head AS (
     UPDATE workspaces
     SET head_cursor = head_cursor + cardinality($2::uuid[]), live_files = live_files - cardinality($2::uuid[])
     WHERE id = $1
     RETURNING head_cursor, head_cursor - cardinality($2::uuid[]) AS base
   ), logged AS (
     INSERT INTO changes (workspace_id, cursor, file_id, action, content_hash, encrypted_size, version, changed_at, changed_by_device)
     SELECT $1, head.base + gone.position, gone.id, 'delete', gone.content_hash, gone.encrypted_size, gone.version, $3, $4
     FROM gone, head
   ), marked AS (
     UPDATE files SET is_deleted = true, updated_at = $3 WHERE workspace_id = $1 AND id = ANY ($2)
   )
   SELECT head_cursor AS "headCursor" FROM head`,
);

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
  const [log] = await tx.run<LockedLog>(lock, [workspaceId]);
  if (!log) throw new NotFound('workspace not found');
  return log;
}

/** Returns the files at these paths, live or deleted. Call it under the lock. */
export function lockedFilesAt(
  tx: WorkspaceTx,
  workspaceId: string,
  encryptedPaths: readonly string[],
): Promise<FileRow[]> {
  return tx.run<FileRow>(filesAt, [workspaceId, encryptedPaths]);
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
  const [head] = await tx.run<{ headCursor: number }>(appendDeletions, [workspaceId, fileIds, now, deviceId]);
  if (!head) throw new Error('the log was not locked');
  return head.headCursor;
}
