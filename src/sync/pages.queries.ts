import { statement } from '../platform/database/index.js';
import { openTo } from '../workspaces/index.js';

/** A time as the API writes it. */
const instant = (column: string): string =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** As in the API, member by member. Paths are base64url and hashes are hex: nothing in them needs escaping. */
const CHANGE = `
  '{"encryptedPath":"' || encrypted_path || '","action":"' || action || '","contentHash":"' || content_hash ||
  '","encryptedSize":' || encrypted_size || ',"version":' || version || ',"changedAt":"' || ${instant('changed_at')} ||
  '","changedByDevice":' || coalesce(to_json(changed_by_device)::text, 'null') || '}'`;

const SNAPSHOT_FILE = `
  '{"id":"' || id || '","encryptedPath":"' || encrypted_path || '","contentHash":"' || content_hash ||
  '","encryptedSize":' || encrypted_size || ',"version":' || version || ',"createdAt":"' || ${instant('created_at')} ||
  '","updatedAt":"' || ${instant('updated_at')} || '"}'`;

/** The first $3 of the rows, which are one more where there are more. */
const onPage = (item: string): string => `
  coalesce(string_agg(${item}, ',' ORDER BY place) FILTER (WHERE place <= $3::int), '') AS items,
  count(*) > $3::int AS "hasMore"`;

/**
 * A page is one row, with its items as the text that the client gets: as rows they cost the service four times the work.
 * Each is one statement, so head and items come from one snapshot and a cursor never lies about its items. No row: the
 * workspace is not open to the caller.
 */
export const pageStatements = {
  snapshot: statement(
    'pages.snapshot',
    `SELECT w.head_cursor AS "headCursor", page.*
     FROM workspaces w
     CROSS JOIN LATERAL (
       SELECT max(id::text COLLATE "C") FILTER (WHERE place <= $3::int) AS last, ${onPage(SNAPSHOT_FILE)}
       FROM (
         SELECT *, row_number() OVER (ORDER BY id) AS place
         FROM files WHERE workspace_id = $1 AND NOT is_deleted AND id > $2
         ORDER BY id LIMIT $3::int + 1
       ) rows
     ) page
     WHERE w.id = $1 AND ${openTo(4)}`,
  ),

  /** The path is looked up for each row and not joined, as in `sync.pull`. */
  pull: statement(
    'pages.pull',
    `SELECT w.head_cursor AS "headCursor", w.compaction_floor AS "compactionFloor", page.*
     FROM workspaces w
     CROSS JOIN LATERAL (
       SELECT min(cursor) AS first, max(cursor) FILTER (WHERE place <= $3::int) AS last, ${onPage(CHANGE)}
       FROM (
         SELECT c.*, row_number() OVER (ORDER BY c.cursor) AS place,
                (SELECT f.encrypted_path FROM files f WHERE f.workspace_id = $1 AND f.id = c.file_id) AS encrypted_path
         FROM changes c WHERE c.workspace_id = $1 AND c.cursor > $2
         ORDER BY c.cursor LIMIT $3::int + 1
       ) rows
     ) page
     WHERE w.id = $1 AND ${openTo(4)}`,
  ),
};
