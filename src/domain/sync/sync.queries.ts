import { ofOpenWorkspace } from '../../access/index.js';
import { instantText, ofWorkspace } from '../../platform/database/index.js';

/** Mirrors the API field by field. Paths are base64url and hashes are hex, so nothing needs escaping. */
const CHANGE = `
  '{"encryptedPath":"' || path || '","action":"' || action || '","contentHash":"' || content_hash ||
  '","encryptedSize":' || encrypted_size || ',"version":' || version || ',"changedAt":"' || ${instantText('changed_at')} ||
  '","changedByDevice":' || coalesce(to_json(changed_by_device)::text, 'null') || '}'`;

const SNAPSHOT_FILE = `
  '{"id":"' || id || '","encryptedPath":"' || encrypted_path || '","contentHash":"' || content_hash ||
  '","encryptedSize":' || encrypted_size || ',"version":' || version || ',"createdAt":"' || ${instantText('created_at')} ||
  '","updatedAt":"' || ${instantText('updated_at')} || '"}'`;

/** Once a file is deleted, nothing else updates it, so `updated_at` is the time of deletion. */
const TRASHED_FILE = `
  '{"id":"' || id || '","encrypted_path":"' || encrypted_path || '","content_hash":"' || content_hash ||
  '","encrypted_size":' || encrypted_size || ',"version":' || version || ',"deleted_at":"' || ${instantText('updated_at')} || '"}'`;

const inOrder = (item: string, by: string): string =>
  `coalesce(string_agg(${item}, ',' ORDER BY ${by}), '') AS items`;

/** A page of the files that match `condition`, ordered by id. */
const filesPage =
  (condition: string, item: string) =>
  (access: (first: number) => string): string => `
  SELECT w.head_cursor AS "headCursor", page.*, (
    SELECT true FROM {files} WHERE workspace_id = $1 AND ${condition} AND id > page.last::uuid ORDER BY id LIMIT 1
  ) IS NOT NULL AS "hasMore"
  FROM {workspaces} w
  CROSS JOIN LATERAL (
    SELECT max(id::text COLLATE "C") AS last, ${inOrder(item, 'id')}
    FROM (
      SELECT * FROM {files} WHERE workspace_id = $1 AND ${condition} AND id > $2 ORDER BY id LIMIT $3
    ) rows
  ) page
  WHERE w.id = $1 AND ${access(4)}`;

/**
 * A page of a workspace, returned as one row whose items are already the text for the client: returning the items as
 * rows costs the service four times as much. $2: where the page starts, $3: its maximum number of items.
 * Each query is a single statement, so head and items come from one snapshot and a cursor always matches its items.
 * No row means that the caller has no access to the workspace. The check whether more rows follow uses the page's own
 * order, which ties the planner to the index; inside an EXISTS the planner would discard the ORDER BY.
 */
export const pageStatements = {
  snapshot: ofOpenWorkspace('pages.snapshot', filesPage('NOT is_deleted', SNAPSHOT_FILE)),

  /** The same for soft-deleted files. */
  trash: ofOpenWorkspace('pages.trash', filesPage('is_deleted', TRASHED_FILE)),

  pull: ofOpenWorkspace(
    'pages.pull',
    (access) => `SELECT w.head_cursor AS "headCursor", w.compaction_floor AS "compactionFloor", page.*, (
       SELECT true FROM {changes} WHERE workspace_id = $1 AND cursor > page.last ORDER BY cursor LIMIT 1
     ) IS NOT NULL AS "hasMore"
     FROM {workspaces} w
     CROSS JOIN LATERAL (
       SELECT min(cursor) AS first, max(cursor) AS last, ${inOrder(CHANGE, 'cursor')}
       FROM (SELECT * FROM {changes} WHERE workspace_id = $1 AND cursor > $2 ORDER BY cursor LIMIT $3) rows
     ) page
     WHERE w.id = $1 AND ${access(4)}`,
  ),
};

/** Each query is a single statement, so head and rows come from one snapshot and a cursor always matches its rows. */
export const syncStatements = {
  status: ofWorkspace(
    'sync.status',
    `SELECT head_cursor AS "headCursor", live_files AS "liveFiles" FROM {workspaces} WHERE id = $1 AND deleted_at IS NULL`,
  ),

  snapshot: ofWorkspace(
    'sync.snapshot',
    `SELECT w.head_cursor AS "headCursor", f.*
     FROM {workspaces} w
     LEFT JOIN LATERAL (
       SELECT id, encrypted_path AS "encryptedPath", content_hash AS "contentHash", encrypted_size AS "encryptedSize",
              version, created_at AS "createdAt", updated_at AS "updatedAt"
       FROM {files}
       WHERE workspace_id = $1 AND NOT is_deleted AND id > $2
       ORDER BY id LIMIT $3
     ) f ON true
     WHERE w.id = $1 AND w.deleted_at IS NULL
     ORDER BY f.id`,
  ),

  pull: ofWorkspace(
    'sync.pull',
    `SELECT w.head_cursor AS "headCursor", w.compaction_floor AS "compactionFloor", c.*
     FROM {workspaces} w
     LEFT JOIN LATERAL (
       SELECT cursor, action, path AS "encryptedPath", content_hash AS "contentHash",
              encrypted_size AS "encryptedSize", version, changed_at AS "changedAt", changed_by_device AS "changedByDevice"
       FROM {changes}
       WHERE workspace_id = $1 AND cursor > $2
       ORDER BY cursor LIMIT $3
     ) c ON true
     WHERE w.id = $1 AND w.deleted_at IS NULL
     ORDER BY c.cursor`,
  ),

  /** Returns a row when a change has this cursor ($2) or the next one. */
  isCursorKnown: ofWorkspace(
    'sync.is_cursor_known',
    `SELECT 1 FROM {changes} WHERE workspace_id = $1 AND cursor IN ($2::bigint, $2::bigint + 1) LIMIT 1`,
  ),

  /**
   * Summarizes the changes of each file ($2) above a cursor ($3), from the point of view of one device ($4); no row for an
   * unchanged file. Reads the changes of a file newest first, and only until the answer is known.
   */
  changesSince: ofWorkspace(
    'sync.changes_since',
    `SELECT f.id AS "fileId",
            (SELECT true FROM {changes}
             WHERE workspace_id = $1 AND file_id = f.id AND cursor > $3 AND changed_by_device IS DISTINCT FROM $4
             ORDER BY cursor DESC LIMIT 1) IS NOT NULL AS "byOthers",
            CASE WHEN (
              SELECT true FROM {changes}
              WHERE workspace_id = $1 AND file_id = f.id AND cursor > own.last_deletion AND changed_by_device = $4
              ORDER BY cursor DESC LIMIT 1
            ) IS NULL THEN own.hashes[1] END AS "ownDeletion",
            coalesce(own.hashes, '{}') AS "deletedHashes"
     FROM unnest($2::uuid[]) AS f (id)
     CROSS JOIN LATERAL (
       SELECT max(cursor) AS last_deletion, array_agg(content_hash ORDER BY cursor DESC) AS hashes FROM {changes}
       WHERE workspace_id = $1 AND file_id = f.id AND cursor > $3 AND action = 'delete' AND changed_by_device = $4
     ) own
     WHERE (SELECT cursor FROM {changes} WHERE workspace_id = $1 AND file_id = f.id ORDER BY cursor DESC LIMIT 1) > $3`,
  ),
};
