import { statement } from '../platform/database/index.js';

/**
 * The given ids, as long as they belong to the claim until $4; later there may be another claim, or another leftover of the
 * same key.
 */
const OF_CLAIM = `l.workspace_id = ANY ($2) AND (l.location, l.workspace_id, l.id) IN (SELECT * FROM unnest($1::text[], $2::uuid[], $3::uuid[]))
       AND l.claimed_until = $4`;

/** Due at $1 and not claimed at $2. Bytes that a row of `blobs` refers to are never deleted, whatever this table says. */
const IS_DUE = 'not_before <= $1 AND (claimed_until IS NULL OR claimed_until <= $2)';
export const IS_UNNAMED = `NOT EXISTS (SELECT 1 FROM blobs b
                       WHERE b.workspace_id = l.workspace_id AND b.id = l.id AND b.location = l.location)`;

/**
 * Also returns at which other location outside the database a row has the bytes, and their size.
 * @param lock skips what another sweeper is about to claim; without it, this waits for that and then finds it claimed
 */
const claim = (lock: string): string =>
  `UPDATE blob_leftovers l SET state = 'dying', claimed_until = $3
     FROM (
       SELECT location, workspace_id, id FROM blob_leftovers l
       WHERE ${IS_DUE} AND ${IS_UNNAMED}
       ORDER BY not_before
       LIMIT $4
       ${lock}
     ) due
     LEFT JOIN blobs b ON b.workspace_id = due.workspace_id AND b.id = due.id
                      AND b.location <> 'inline' AND b.size IS NOT NULL
     WHERE (l.location, l.workspace_id, l.id) = (due.location, due.workspace_id, due.id)
       AND (l.claimed_until IS NULL OR l.claimed_until <= $2)
     RETURNING l.location, l.workspace_id AS "workspaceId", l.id, b.location AS named, b.size`;

export const orphanedCopyStatements = {
  /** Returns no row if one exists already: another move is working on it, or an earlier copy still waits for deletion. */
  announce: statement(
    'blob_leftovers.announce',
    `INSERT INTO blob_leftovers (location, workspace_id, id, state, not_before) VALUES ($1, $2, $3, 'copying', $4)
     ON CONFLICT DO NOTHING
     RETURNING id`,
  ),

  /** Deletes the record of a copy. Returns no row if the sweeper was faster: the copy is deleted, or will be. */
  adopt: statement(
    'blob_leftovers.adopt',
    `DELETE FROM blob_leftovers WHERE location = $1 AND workspace_id = $2 AND id = $3 AND state = 'copying'
     RETURNING id`,
  ),

  /** An existing record was marked for deletion just as a row started to refer to the copy, and was never claimed. */
  leave: statement(
    'blob_leftovers.leave',
    `INSERT INTO blob_leftovers (location, workspace_id, id, state, not_before) VALUES ($1, $2, $3, 'dying', $4)
     ON CONFLICT (location, workspace_id, id) DO UPDATE SET state = 'dying', not_before = EXCLUDED.not_before`,
  ),

  /**
   * Returns no row if a row of `blobs` refers to the bytes, or if they are recorded already, for example as a copy in
   * progress.
   */
  markForDeletion: statement(
    'blob_leftovers.mark_for_deletion',
    `INSERT INTO blob_leftovers (location, workspace_id, id, state, not_before)
     SELECT l.location, l.workspace_id, l.id, 'dying', $4::timestamptz
     FROM (VALUES ($1::text, $2::uuid, $3::uuid)) AS l (location, workspace_id, id)
     WHERE ${IS_UNNAMED}
     ON CONFLICT DO NOTHING
     RETURNING id`,
  ),

  /** Returns a row if a sweeper has claimed the bytes at $4; otherwise they are no longer a leftover. */
  reclaim: statement(
    'blob_leftovers.reclaim',
    `WITH freed AS (
       DELETE FROM blob_leftovers
       WHERE location = $1 AND workspace_id = $2 AND id = $3 AND (claimed_until IS NULL OR claimed_until <= $4)
       RETURNING id
     )
     SELECT id FROM blob_leftovers
     WHERE location = $1 AND workspace_id = $2 AND id = $3 AND NOT EXISTS (SELECT 1 FROM freed)`,
  ),

  giveUp: statement(
    'blob_leftovers.give_up',
    `UPDATE blob_leftovers SET state = 'dying', not_before = $4
     WHERE location = $1 AND workspace_id = $2 AND id = $3 AND state = 'copying'`,
  ),

  /** The number of rows that `claim` would return without its limit. */
  countDue: statement(
    'blob_leftovers.count_due',
    `SELECT count(*) AS due FROM blob_leftovers l WHERE ${IS_DUE} AND ${IS_UNNAMED}`,
  ),

  claim: statement('blob_leftovers.claim', claim('FOR UPDATE SKIP LOCKED'), { onNodes: claim('') }),

  postpone: statement(
    'blob_leftovers.postpone',
    `UPDATE blob_leftovers l SET not_before = $5, claimed_until = NULL WHERE ${OF_CLAIM}`,
  ),

  remove: statement('blob_leftovers.remove', `DELETE FROM blob_leftovers l WHERE ${OF_CLAIM}`),
};
