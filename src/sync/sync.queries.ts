import { statement } from '../platform/database/index.js';

/** Each query is a single statement, so head and rows come from one snapshot and a cursor always matches its rows. */
export const syncStatements = {
  status: statement(
    'sync.status',
    `SELECT head_cursor AS "headCursor", live_files AS "liveFiles" FROM workspaces WHERE id = $1 AND deleted_at IS NULL`,
  ),

  snapshot: statement(
    'sync.snapshot',
    `SELECT w.head_cursor AS "headCursor", f.*
     FROM workspaces w
     LEFT JOIN LATERAL (
       SELECT id, encrypted_path AS "encryptedPath", content_hash AS "contentHash", encrypted_size AS "encryptedSize",
              version, created_at AS "createdAt", updated_at AS "updatedAt"
       FROM files
       WHERE workspace_id = $1 AND NOT is_deleted AND id > $2
       ORDER BY id LIMIT $3
     ) f ON true
     WHERE w.id = $1 AND w.deleted_at IS NULL
     ORDER BY f.id`,
  ),

  /**
   * The path is looked up per row instead of joined: a plan made for small workspaces would compare each row of the
   * page with every file of a large one (1 s per page at 20,000 files, where this takes 5 ms).
   */
  pull: statement(
    'sync.pull',
    `SELECT w.head_cursor AS "headCursor", w.compaction_floor AS "compactionFloor", c.*
     FROM workspaces w
     LEFT JOIN LATERAL (
       SELECT c.cursor, c.action, c.content_hash AS "contentHash", c.encrypted_size AS "encryptedSize", c.version,
              c.changed_at AS "changedAt", c.changed_by_device AS "changedByDevice",
              (SELECT f.encrypted_path FROM files f WHERE f.workspace_id = $1 AND f.id = c.file_id) AS "encryptedPath"
       FROM changes c
       WHERE c.workspace_id = $1 AND c.cursor > $2
       ORDER BY c.cursor LIMIT $3
     ) c ON true
     WHERE w.id = $1 AND w.deleted_at IS NULL
     ORDER BY c.cursor`,
  ),

  /** Returns a row when a change has this cursor ($2) or the next one. */
  isCursorKnown: statement(
    'sync.is_cursor_known',
    `SELECT FROM changes WHERE workspace_id = $1 AND cursor IN ($2::bigint, $2::bigint + 1) LIMIT 1`,
  ),

  /** Summarizes what happened to each file above a cursor, from the point of view of one device ($4). */
  changesSince: statement(
    'sync.changes_since',
    `SELECT file_id AS "fileId",
            bool_or(changed_by_device IS DISTINCT FROM $4) AS "byOthers",
            (array_agg(action ORDER BY cursor DESC) FILTER (WHERE changed_by_device = $4))[1] AS "ownAction",
            (array_agg(content_hash ORDER BY cursor DESC) FILTER (WHERE changed_by_device = $4))[1] AS "ownHash",
            coalesce(array_agg(content_hash) FILTER (WHERE changed_by_device = $4 AND action = 'delete'), '{}') AS "deletedHashes"
     FROM changes WHERE workspace_id = $1 AND file_id = ANY ($2) AND cursor > $3
     GROUP BY file_id`,
  ),
};
