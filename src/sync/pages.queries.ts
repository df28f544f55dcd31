import { instantText, statement } from '../platform/database/index.js';
import { accessCondition } from '../access/guards/index.js';

/** As in the API, member by member. Paths are base64url and hashes are hex: nothing in them needs escaping. */
const CHANGE = `
  '{"encryptedPath":"' || encrypted_path || '","action":"' || action || '","contentHash":"' || content_hash ||
  '","encryptedSize":' || encrypted_size || ',"version":' || version || ',"changedAt":"' || ${instantText('changed_at')} ||
  '","changedByDevice":' || coalesce(to_json(changed_by_device)::text, 'null') || '}'`;

const SNAPSHOT_FILE = `
  '{"id":"' || id || '","encryptedPath":"' || encrypted_path || '","contentHash":"' || content_hash ||
  '","encryptedSize":' || encrypted_size || ',"version":' || version || ',"createdAt":"' || ${instantText('created_at')} ||
  '","updatedAt":"' || ${instantText('updated_at')} || '"}'`;

/** Nothing but its deletion has changed a deleted file since, so that is when it was. */
const TRASHED_FILE = `
  '{"id":"' || id || '","encrypted_path":"' || encrypted_path || '","content_hash":"' || content_hash ||
  '","encrypted_size":' || encrypted_size || ',"version":' || version || ',"deleted_at":"' || ${instantText('updated_at')} || '"}'`;

const inOrder = (item: string, by: string): string =>
  `coalesce(string_agg(${item}, ',' ORDER BY ${by}), '') AS items`;

/** A row for each page that is asked for, with its place among them, from 1. */
const asked = (from: string): string =>
  `unnest($2::${from}[], $3::int[]) WITH ORDINALITY AS asked (start, size, place)`;

/** Of the files for which `condition` holds, by their ids. */
const filesPage = (condition: string, item: string): string => `
  SELECT asked.place::int, w.head_cursor AS "headCursor", page.*, (
    SELECT true FROM files WHERE workspace_id = $1 AND ${condition} AND id > page.last::uuid ORDER BY id LIMIT 1
  ) IS NOT NULL AS "hasMore"
  FROM workspaces w
  CROSS JOIN ${asked('uuid')}
  CROSS JOIN LATERAL (
    SELECT max(id::text COLLATE "C") AS last, ${inOrder(item, 'id')}
    FROM (
      SELECT * FROM files WHERE workspace_id = $1 AND ${condition} AND id > asked.start ORDER BY id LIMIT asked.size
    ) rows
  ) page
  WHERE w.id = $1 AND ${accessCondition(4)}`;

/**
 * Pages of one workspace, each as one row, with its items as the text that the client gets: as rows they cost the service
 * four times the work. $2: where each begins, $3: how many items it may have. Each is one statement, so head and items come
 * from one snapshot and a cursor never lies about its items. No row: the workspace is not open to the caller. Whether more
 * follows is asked in the order of the page, which holds the planner to its index; in an EXISTS an order would be thrown away.
 */
export const pageStatements = {
  snapshot: statement('pages.snapshot', filesPage('NOT is_deleted', SNAPSHOT_FILE)),

  /** The same of the soft-deleted files. */
  trash: statement('pages.trash', filesPage('is_deleted', TRASHED_FILE)),

  /** The path is looked up for each row and not joined, as in `sync.pull`. */
  pull: statement(
    'pages.pull',
    `SELECT asked.place::int, w.head_cursor AS "headCursor", w.compaction_floor AS "compactionFloor", page.*, (
       SELECT true FROM changes WHERE workspace_id = $1 AND cursor > page.last ORDER BY cursor LIMIT 1
     ) IS NOT NULL AS "hasMore"
     FROM workspaces w
     CROSS JOIN ${asked('bigint')}
     CROSS JOIN LATERAL (
       SELECT min(cursor) AS first, max(cursor) AS last, ${inOrder(CHANGE, 'cursor')}
       FROM (
         SELECT c.*, (SELECT f.encrypted_path FROM files f WHERE f.workspace_id = $1 AND f.id = c.file_id) AS encrypted_path
         FROM changes c WHERE c.workspace_id = $1 AND c.cursor > asked.start ORDER BY c.cursor LIMIT asked.size
       ) rows
     ) page
     WHERE w.id = $1 AND ${accessCondition(4)}`,
  ),
};
