import { type Statement, statement } from '../platform/database/index.js';
import type { BlobReferences } from './blob-references.js';

/** SQL: no sweeper has claimed the row, or it has had its time and is dead. */
const isUnclaimed = (alias: string, now: string): string =>
  `(${alias}.claimed_until IS NULL OR ${alias}.claimed_until <= ${now})`;

const OF_IDS = '(b.workspace_id, b.id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))';

export interface SweepStatements {
  readonly countDue: Statement;
  readonly markStagedForDeletion: Statement;
  readonly lockDue: Statement;
  readonly lockOfDeletedWorkspace: Statement;
  readonly revive: Statement;
  readonly claim: Statement;
  readonly postpone: Statement;
  readonly removeRows: Statement;
  readonly anyOfWorkspace: Statement;
}

/**
 * Those whose removal has failed before come last. Uploads under way are left out. What is dying already is looked for
 * when nothing else is left: it is sorted for each batch, and all together would be too.
 */
const lockOfDeletedWorkspace = statement(
  'blobs.lock_of_deleted_workspace',
  `WITH live AS MATERIALIZED (
     SELECT workspace_id AS "workspaceId", id FROM blobs
     WHERE workspace_id = $1 AND state <> 'dying' AND NOT (state = 'staged' AND created_at >= $2)
     ORDER BY id
     LIMIT $4
     FOR UPDATE SKIP LOCKED
   ), dying AS MATERIALIZED (
     SELECT workspace_id AS "workspaceId", id FROM blobs b
     WHERE workspace_id = $1 AND state = 'dying' AND ${isUnclaimed('b', '$3')}
     ORDER BY not_before
     LIMIT $4
     FOR UPDATE SKIP LOCKED
   )
   SELECT * FROM live UNION ALL SELECT * FROM dying WHERE NOT EXISTS (SELECT FROM live)`,
);

export function sweepStatements({ unreferenced }: BlobReferences): SweepStatements {
  return {
    /** What `markStagedForDeletion` and `claim` would come to: $3 is what is old for an upload. */
    countDue: statement(
      'blobs.count_due',
      `SELECT count(*) AS due FROM blobs b
       WHERE (state = 'staged' AND created_at < $3 OR state = 'dying' AND not_before <= $1 AND ${isUnclaimed('b', '$2')})
         AND ${unreferenced}`,
    ),

    markStagedForDeletion: statement(
      'blobs.mark_staged_for_deletion',
      `UPDATE blobs SET state = 'dying', not_before = $2 WHERE state = 'staged' AND created_at < $1`,
    ),

    /** Those that another sweeper, or somebody who is about to refer to them, has locked are left to the next sweep. */
    lockDue: statement(
      'blobs.lock_due',
      `SELECT workspace_id AS "workspaceId", id FROM blobs b
       WHERE state = 'dying' AND not_before <= $1 AND ${isUnclaimed('b', '$2')}
       ORDER BY not_before
       LIMIT $3
       FOR UPDATE SKIP LOCKED`,
    ),

    lockOfDeletedWorkspace,

    /** To be run under the locks, in a statement of its own: only that sees what was committed before them. */
    revive: statement(
      'blobs.revive',
      `UPDATE blobs b SET state = 'live', not_before = NULL
       WHERE ${OF_IDS} AND state = 'dying' AND size IS NOT NULL AND NOT (${unreferenced})`,
    ),

    /** As `revive`. */
    claim: statement(
      'blobs.claim',
      `UPDATE blobs b SET state = 'dying', not_before = coalesce(not_before, $3), claimed_until = $4
       WHERE ${OF_IDS} AND ${unreferenced}
       RETURNING workspace_id AS "workspaceId", id, location`,
    ),

    /** Of the claim that ends at $3. */
    postpone: statement(
      'blobs.postpone',
      `UPDATE blobs b SET not_before = $4, claimed_until = NULL WHERE ${OF_IDS} AND claimed_until = $3`,
    ),

    /** Of the claim that ends at $3: an upload that was taken for dead may have come to claim its row since, with its bytes. */
    removeRows: statement(
      'blobs.remove_rows',
      `DELETE FROM blobs b WHERE ${OF_IDS} AND state = 'dying' AND claimed_until = $3 AND ${unreferenced}`,
    ),

    /** A row when the workspace has any blob, uploads under way included. */
    anyOfWorkspace: statement(
      'blobs.any_of_workspace',
      `SELECT id FROM blobs WHERE workspace_id = $1 LIMIT 1`,
    ),
  };
}
