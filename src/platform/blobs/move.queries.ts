import { statement } from '../database/index.js';

export const moveStatements = {
  /**
   * Live blobs of $4 rows after the one of $1 and $2 that belong at $3 and are not there, and the last of those rows.
   * What is small enough ($5) belongs inline, the rest in the store; of what is in a store already, all.
   */
  page: statement(
    'blobs.move_page',
    `WITH page AS (
       SELECT workspace_id, id, state, location, size, sha256 FROM blobs
       WHERE (workspace_id, id) > ($1::uuid, $2::uuid)
       ORDER BY workspace_id, id
       LIMIT $4
     )
     SELECT workspace_id AS "workspaceId", id, location, size, sha256,
            state = 'live' AND location <> $3 AND CASE
              WHEN $3 = 'inline' THEN size <= $5
              WHEN location = 'inline' THEN size > $5 OR $5 = 0
              ELSE true
            END AS "isDue"
     FROM page
     ORDER BY workspace_id, id`,
  ),

  bytes: statement(
    'blobs.inline_bytes',
    `SELECT bytes FROM blobs WHERE workspace_id = $1 AND id = $2 AND location = 'inline'`,
  ),

  /** No row when the blob is not any more what was copied. */
  relocate: statement(
    'blobs.relocate',
    `UPDATE blobs SET location = $4, bytes = $5
     WHERE workspace_id = $1 AND id = $2 AND location = $3 AND state = 'live'
     RETURNING id`,
  ),
};
