import { type Statement, statement } from '../platform/database/index.js';
import type { BlobReferences } from './blob-references.js';

/** SQL: no sweeper has claimed the row, or its claim has expired. */
const isUnclaimed = (alias: string, now: string): string =>
  `(${alias}.claimed_until IS NULL OR ${alias}.claimed_until <= ${now})`;

const OF_IDS =
  'b.workspace_id = ANY ($1) AND (b.workspace_id, b.id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))';

/** Up to $3 blobs that are due at $1 and not claimed at $2. */
const DUE = `SELECT workspace_id AS "workspaceId", id FROM blobs b
       WHERE state = 'dying' AND not_before <= $1 AND ${isUnclaimed('b', '$2')}
       ORDER BY not_before
       LIMIT $3`;

export interface SweepStatements {
  readonly countDue: Statement;
  readonly markStagedForDeletion: Statement;
  readonly lockDue: Statement;
  readonly removeInlineOfDeletedWorkspace: Statement;
  readonly lockOfDeletedWorkspace: Statement;
  readonly revive: Statement;
  readonly claim: Statement;
  readonly postpone: Statement;
  readonly removeRows: Statement;
  readonly anyOfWorkspace: Statement;
}

/**
 * Blobs above $5, and those whose deletion has failed before, which come last. Excludes uploads in progress. Blobs already marked for deletion are only
 * selected when nothing else is left: they are sorted for each batch, and so would all blobs together be.
 */
const lockOfDeletedWorkspace = statement(
  'blobs.lock_of_deleted_workspace',
  `WITH live AS MATERIALIZED (
     SELECT workspace_id AS "workspaceId", id FROM blobs
     WHERE workspace_id = $1 AND id > $5 AND state <> 'dying' AND NOT (state = 'staged' AND created_at >= $2)
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
   SELECT * FROM live UNION ALL SELECT * FROM dying WHERE NOT EXISTS (SELECT 1 FROM live)`,
);

export function sweepStatements({ unreferenced }: BlobReferences): SweepStatements {
  return {
    /** How many blobs `markStagedForDeletion` and `claim` would affect; an upload is old before $3. */
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

    /**
     * Skips rows that another sweeper has locked, or a transaction that is about to refer to them; the next sweep gets those.
     * On nodes it runs on one part after the other.
     */
    lockDue: statement('blobs.lock_due', `${DUE}\n       FOR UPDATE SKIP LOCKED`, { onNodes: DUE }),

    /**
     * Deletes up to $3 blobs of a deleted workspace above an id ($2) that have their bytes in the row: there is nothing else to
     * remove, so no claim is needed. Excludes what is referenced, and uploads in progress.
     */
    removeInlineOfDeletedWorkspace: statement(
      'blobs.remove_inline_of_deleted_workspace',
      `WITH page AS MATERIALIZED (
         SELECT id FROM blobs WHERE workspace_id = $1 AND id > $2 AND location = 'inline' AND state <> 'staged'
         ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED
       ), gone AS (
         DELETE FROM blobs b WHERE workspace_id = $1 AND id = ANY (ARRAY(SELECT id FROM page)) AND ${unreferenced} RETURNING id
       )
       SELECT count(*) AS removed, max(id::text) AS last FROM gone`,
    ),

    lockOfDeletedWorkspace,

    /** Must run under the locks, as a separate statement: only then does it see what was committed before them. */
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

    /** Rows of the claim that ends at $3. */
    postpone: statement(
      'blobs.postpone',
      `UPDATE blobs b SET not_before = $4, claimed_until = NULL WHERE ${OF_IDS} AND claimed_until = $3`,
    ),

    /** Rows of the claim that ends at $3: an upload that was taken for dead may since have claimed its row, with its bytes. */
    removeRows: statement(
      'blobs.remove_rows',
      `DELETE FROM blobs b WHERE ${OF_IDS} AND state = 'dying' AND claimed_until = $3 AND ${unreferenced}`,
    ),

    /** Returns a row if the workspace has any blob, including uploads in progress. */
    anyOfWorkspace: statement(
      'blobs.any_of_workspace',
      `SELECT id FROM blobs WHERE workspace_id = $1 LIMIT 1`,
    ),
  };
}
