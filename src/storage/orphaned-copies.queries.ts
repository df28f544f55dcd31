import { statement } from '../platform/database/index.js';

/** Those of the ids that are in one's claim until $4 still; later there may be another's, or another leftover of the same key. */
const OF_CLAIM = `(l.location, l.workspace_id, l.id) IN (SELECT * FROM unnest($1::text[], $2::uuid[], $3::uuid[]))
       AND l.claimed_until = $4`;

/** Due by $1 and claimed by nobody at $2. Bytes that a row of `blobs` names are never removed, whatever is written here. */
const IS_DUE = 'not_before <= $1 AND (claimed_until IS NULL OR claimed_until <= $2)';
export const IS_UNNAMED = `NOT EXISTS (SELECT FROM blobs b
                       WHERE b.workspace_id = l.workspace_id AND b.id = l.id AND b.location = l.location)`;

export const orphanedCopyStatements = {
  /** No row when there is one already: another move is at it, or an earlier copy still waits to be removed. */
  announce: statement(
    'blob_leftovers.announce',
    `INSERT INTO blob_leftovers (location, workspace_id, id, state, not_before) VALUES ($1, $2, $3, 'copying', $4)
     ON CONFLICT DO NOTHING
     RETURNING id`,
  ),

  /** Strikes off a copy. No row when the sweeper has come first: the copy is gone, or will be. */
  adopt: statement(
    'blob_leftovers.adopt',
    `DELETE FROM blob_leftovers WHERE location = $1 AND workspace_id = $2 AND id = $3 AND state = 'copying'
     RETURNING id`,
  ),

  /** One that is there already was marked for deletion in the moment in which a row came to name it, and never claimed. */
  leave: statement(
    'blob_leftovers.leave',
    `INSERT INTO blob_leftovers (location, workspace_id, id, state, not_before) VALUES ($1, $2, $3, 'dying', $4)
     ON CONFLICT (location, workspace_id, id) DO UPDATE SET state = 'dying', not_before = EXCLUDED.not_before`,
  ),

  /** No row when a row of `blobs` names them, or they are known already: as a copy under way, for instance. */
  markForDeletion: statement(
    'blob_leftovers.mark_for_deletion',
    `INSERT INTO blob_leftovers (location, workspace_id, id, state, not_before)
     SELECT l.location, l.workspace_id, l.id, 'dying', $4
     FROM (VALUES ($1::text, $2::uuid, $3::uuid)) AS l (location, workspace_id, id)
     WHERE ${IS_UNNAMED}
     ON CONFLICT DO NOTHING
     RETURNING id`,
  ),

  /** A row when a sweeper has claimed it at $4; otherwise it is no leftover any more. */
  reclaim: statement(
    'blob_leftovers.reclaim',
    `WITH freed AS (
       DELETE FROM blob_leftovers
       WHERE location = $1 AND workspace_id = $2 AND id = $3 AND (claimed_until IS NULL OR claimed_until <= $4)
       RETURNING id
     )
     SELECT id FROM blob_leftovers
     WHERE location = $1 AND workspace_id = $2 AND id = $3 AND NOT EXISTS (SELECT FROM freed)`,
  ),

  giveUp: statement(
    'blob_leftovers.give_up',
    `UPDATE blob_leftovers SET state = 'dying', not_before = $4
     WHERE location = $1 AND workspace_id = $2 AND id = $3 AND state = 'copying'`,
  ),

  /** How many `claim` would take. */
  countDue: statement(
    'blob_leftovers.count_due',
    `SELECT count(*) AS due FROM blob_leftovers l WHERE ${IS_DUE} AND ${IS_UNNAMED}`,
  ),

  /** Says too where else a row has the bytes, outside the database, and how many of them. */
  claim: statement(
    'blob_leftovers.claim',
    `UPDATE blob_leftovers l SET state = 'dying', claimed_until = $3
     FROM (
       SELECT location, workspace_id, id FROM blob_leftovers l
       WHERE ${IS_DUE} AND ${IS_UNNAMED}
       ORDER BY not_before
       LIMIT $4
       FOR UPDATE SKIP LOCKED
     ) due
     LEFT JOIN blobs b ON b.workspace_id = due.workspace_id AND b.id = due.id
                      AND b.location <> 'inline' AND b.size IS NOT NULL
     WHERE (l.location, l.workspace_id, l.id) = (due.location, due.workspace_id, due.id)
     RETURNING l.location, l.workspace_id AS "workspaceId", l.id, b.location AS named, b.size`,
  ),

  postpone: statement(
    'blob_leftovers.postpone',
    `UPDATE blob_leftovers l SET not_before = $5, claimed_until = NULL WHERE ${OF_CLAIM}`,
  ),

  remove: statement('blob_leftovers.remove', `DELETE FROM blob_leftovers l WHERE ${OF_CLAIM}`),
};
