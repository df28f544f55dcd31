import { statement } from '../platform/database/index.js';

/** The blobs that the versions of the workspace `id` refer to, each once. */
const countedAnew = (id: string): string => `(
  SELECT coalesce(sum(b.size), 0)::bigint FROM blobs b
  WHERE b.workspace_id = ${id}
    AND EXISTS (SELECT FROM versions v WHERE v.workspace_id = b.workspace_id AND v.blob_id = b.id))`;

export const usageStatements = {
  ofUser: statement(
    'usage.of_user',
    `SELECT id, document_bytes AS "usedBytes", live_files AS files FROM workspaces
     WHERE user_id = $1 AND deleted_at IS NULL ORDER BY id`,
  ),

  total: statement(
    'usage.total',
    `SELECT coalesce(sum(document_bytes), 0)::bigint AS bytes FROM workspaces WHERE deleted_at IS NULL`,
  ),

  /** The $2 workspaces after $1, with what each counts and has. */
  page: statement(
    'usage.page',
    `SELECT w.id AS "workspaceId", w.document_bytes AS "usedBytes", ${countedAnew('w.id')} AS "actualBytes"
     FROM (SELECT * FROM workspaces WHERE id > $1 AND deleted_at IS NULL ORDER BY id LIMIT $2) w ORDER BY w.id`,
  ),

  lock: statement(
    'usage.lock',
    `SELECT FROM workspaces WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`,
  ),

  /** To be run under that lock, as a statement of its own: it counts what is committed by then. */
  recount: statement(
    'usage.recount',
    `UPDATE workspaces SET document_bytes = ${countedAnew('$1')} WHERE id = $1`,
  ),
};
