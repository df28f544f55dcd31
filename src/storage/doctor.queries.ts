import { statement } from '../platform/database/index.js';
import { IS_UNNAMED } from './orphaned-copies.queries.js';

export const doctorStatements = {
  /** Live blobs outside the database: $3 rows after ($1, $2). */
  stored: statement(
    'doctor.stored',
    `SELECT workspace_id AS "workspaceId", id, location, size, sha256 FROM blobs
     WHERE (workspace_id, id) > ($1::uuid, $2::uuid) AND state = 'live' AND location <> 'inline'
     ORDER BY workspace_id, id
     LIMIT $3`,
  ),

  /** Whether a blob is still live at the same location. */
  isStill: statement(
    'doctor.is_still',
    `SELECT id FROM blobs WHERE workspace_id = $1 AND id = $2 AND location = $3 AND state = 'live'`,
  ),

  /** $3 blobs after ($1, $2): which ones have inline bytes that do not match their row. Also yields the last row of the page. */
  inlinePage: statement(
    'doctor.inline_page',
    `WITH page AS (
       SELECT * FROM blobs WHERE (workspace_id, id) > ($1::uuid, $2::uuid) ORDER BY workspace_id, id LIMIT $3
     )
     SELECT workspace_id AS "workspaceId", id,
            location = 'inline' AND (length(bytes) <> size OR encode(sha256(bytes), 'hex') <> sha256) AS "isDamaged"
     FROM page ORDER BY workspace_id, id`,
  ),

  /** Everything known about keys: the location in their row, and whether there is a leftover at $3. */
  known: statement(
    'doctor.known',
    `SELECT k.workspace_id AS "workspaceId", k.id, b.location, b.size, b.sha256, l.id IS NOT NULL AS "isLeftover"
     FROM unnest($1::uuid[], $2::uuid[]) AS k (workspace_id, id)
     LEFT JOIN blobs b ON b.workspace_id = ANY ($1) AND b.workspace_id = k.workspace_id AND b.id = k.id
     LEFT JOIN blob_leftovers l ON l.workspace_id = ANY ($1) AND l.location = $3 AND l.workspace_id = k.workspace_id AND l.id = k.id`,
  ),

  /** What has been waiting for the sweeper since before $1 (uploads) or $2 (the rest). */
  overdue: statement(
    'doctor.overdue',
    `SELECT (SELECT count(*) FROM blobs WHERE state = 'staged' AND created_at < $1) AS staged,
            (SELECT count(*) FROM blobs WHERE state = 'dying' AND not_before < $2) AS dying,
            (SELECT count(*) FROM blob_leftovers l WHERE not_before < $2 AND ${IS_UNNAMED}) AS copies`,
  ),
};
