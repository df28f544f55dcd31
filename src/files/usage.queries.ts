import { statement } from '../platform/database/index.js';

/** For the advisory lock of those who correct counts. */
const CORRECTION = 7_325_190_003;

export const usageStatements = {
  /** Usage of the user $1: the sum, and each workspace, oldest first; with $2, that workspace alone. All of one snapshot. */
  ofUser: statement(
    'usage.of_user',
    `SELECT coalesce(sum(document_bytes), 0)::bigint AS "usedBytes",
       coalesce(
         json_agg(json_build_object('id', id, 'usedBytes', document_bytes, 'files', live_files) ORDER BY id)
           FILTER (WHERE $2::uuid IS NULL OR id = $2), '[]'
       ) AS workspaces
     FROM workspaces WHERE user_id = $1 AND deleted_at IS NULL`,
  ),

  total: statement(
    'usage.total',
    `SELECT coalesce(sum(document_bytes), 0)::bigint AS bytes FROM workspaces WHERE deleted_at IS NULL`,
  ),

  /** The workspace after $1, with what it counts and what it has: the blobs that its versions refer to, each once. */
  next: statement(
    'usage.next',
    `SELECT w.id AS "workspaceId", w.document_bytes AS "usedBytes", (
       SELECT coalesce(sum(b.size), 0)::bigint FROM blobs b
       WHERE b.workspace_id = w.id
         AND EXISTS (SELECT FROM versions v WHERE v.workspace_id = b.workspace_id AND v.blob_id = b.id)
     ) AS "actualBytes"
     FROM (SELECT id, document_bytes FROM workspaces WHERE id > $1 AND deleted_at IS NULL ORDER BY id LIMIT 1) w`,
  ),

  /** Until the connection ends. Two at once would add the same twice. */
  correctAlone: statement('usage.correct_alone', `SELECT pg_advisory_lock(${CORRECTION})`),

  /** Every write changes both alike, so what is missing is the same later. */
  correct: statement(
    'usage.correct',
    `UPDATE workspaces SET document_bytes = document_bytes + $2 WHERE id = $1`,
  ),
};
