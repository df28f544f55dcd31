import { statement } from '../platform/database/index.js';

/**
 * Whether a blob belongs at a place and is not there. What is small enough belongs inline, the rest in the store; of
 * what is in a store already, all.
 */
const isDue = (to: string, inlineBytes: string): string => `state = 'live' AND location <> ${to} AND CASE
              WHEN ${to} = 'inline' THEN size <= ${inlineBytes}
              WHEN location = 'inline' THEN size > ${inlineBytes} OR ${inlineBytes} = 0
              ELSE true
            END`;

export const moveStatements = {
  /** Live blobs of $4 rows after the one of $1 and $2 that belong at $3 and are not there, and the last of those rows. */
  page: statement(
    'blobs.move_page',
    `WITH page AS (
       SELECT workspace_id, id, state, location, size, sha256 FROM blobs
       WHERE (workspace_id, id) > ($1::uuid, $2::uuid)
       ORDER BY workspace_id, id
       LIMIT $4
     )
     SELECT workspace_id AS "workspaceId", id, location, size, sha256,
            ${isDue('$3', '$5')} AS "isDue"
     FROM page
     ORDER BY workspace_id, id`,
  ),

  countDue: statement('blobs.count_move_due', `SELECT count(*) AS due FROM blobs WHERE ${isDue('$1', '$2')}`),

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
