import { statement } from '../database/index.js';

export const blobStatements = {
  /** Returns no row when the workspace no longer exists. It cannot be removed before the commit. */
  stage: statement(
    'blobs.stage',
    `INSERT INTO {blobs} (workspace_id, id, state, location, created_at)
     SELECT w.id, $2::uuid, 'staged', $3::text, $4::timestamptz FROM {workspaces} w WHERE w.id = $1 FOR KEY SHARE
     RETURNING id`,
  ),

  /**
   * Marks the blob for deletion. `isUnused` is false if it was committed after all, which its size proves. A sweeper may have
   * taken a slow upload for dead and deleted its row before the bytes were written; this statement inserts the row again, unless
   * the workspace no longer exists.
   */
  markForDeletion: statement(
    'blobs.mark_for_deletion',
    `WITH workspace AS (
       SELECT id FROM {workspaces} WHERE id = $1 FOR KEY SHARE
     ), marked AS (
       INSERT INTO {blobs} AS b (workspace_id, id, state, location, created_at, not_before, claimed_until)
       SELECT id, $2::uuid, 'dying', $5::text, $3::timestamptz, $3::timestamptz, $4::timestamptz FROM workspace
       ON CONFLICT (workspace_id, id) DO UPDATE
         SET state = 'dying', not_before = excluded.not_before, claimed_until = excluded.claimed_until
         WHERE b.size IS NULL
       RETURNING id
     )
     SELECT NOT EXISTS (SELECT 1 FROM workspace) OR EXISTS (SELECT 1 FROM marked) AS "isUnused"`,
  ),

  /** Returns a row if the store has any blob of this database. */
  anyStored: statement(
    'blobs.any_stored',
    `SELECT 1 FROM {blobs} WHERE location = $1 AND location <> 'inline'
     UNION ALL SELECT 1 FROM {blob_leftovers} WHERE location = $1
     LIMIT 1`,
  ),

  /** The age of an upload is measured from its start, the age of a blob marked for deletion from its due time. */
  waiting: statement(
    'blobs.waiting',
    `SELECT 'staged' AS state, count(*) AS blobs, min(created_at) AS oldest FROM {blobs} WHERE state = 'staged'
   UNION ALL
   SELECT 'pending_delete', count(*), min(not_before) FROM {blobs} WHERE state = 'dying'`,
  ),
};

/**
 * The tables that refer to blobs, by `workspace_id` and `blob_id`. Danger: blobs that are referenced only from elsewhere are
 * deleted. The blob of a file's head is also that of one of its versions.
 */
export const TABLES_WITH_BLOBS = ['versions', 'assets'] as const;

/** SQL: nothing refers to the row `b`. */
const UNREFERENCED = TABLES_WITH_BLOBS.map(
  (table) =>
    `NOT EXISTS (SELECT 1 FROM {${table}} r WHERE r.workspace_id = b.workspace_id AND r.blob_id = b.id)`,
).join(' AND ');

/** SQL: no sweeper has claimed the row, or its claim has expired. */
const isUnclaimed = (alias: string, now: string): string =>
  `(${alias}.claimed_until IS NULL OR ${alias}.claimed_until <= ${now})`;

const OF_IDS =
  'b.workspace_id = ANY ($1) AND (b.workspace_id, b.id) IN (SELECT * FROM unnest($1::uuid[], $2::uuid[]))';

export const sweepStatements = {
  markStagedForDeletion: statement(
    'blobs.mark_staged_for_deletion',
    `UPDATE {blobs} SET state = 'dying', not_before = $2 WHERE state = 'staged' AND created_at < $1`,
  ),

  /**
   * Up to $3 blobs that are due at $1 and not claimed at $2. Skips rows that another sweeper has locked, or a transaction that is
   * about to refer to them; the next sweep gets those. It runs on one part after another.
   */
  lockDue: statement(
    'blobs.lock_due',
    `SELECT workspace_id AS "workspaceId", id FROM {blobs} b
       WHERE state = 'dying' AND not_before <= $1 AND ${isUnclaimed('b', '$2')}
       ORDER BY not_before
       LIMIT $3
       FOR UPDATE SKIP LOCKED`,
  ),

  /**
   * Blobs above $5, then those whose deletion has failed before. Excludes uploads in progress. Blobs already marked for deletion
   * are only selected when nothing else is left: each batch sorts them, and sorting all blobs would be slow.
   */
  lockOfDeletedWorkspace: statement(
    'blobs.lock_of_deleted_workspace',
    `WITH live AS MATERIALIZED (
     SELECT workspace_id AS "workspaceId", id FROM {blobs}
     WHERE workspace_id = $1 AND id > $5 AND state <> 'dying' AND NOT (state = 'staged' AND created_at >= $2)
     ORDER BY id
     LIMIT $4
     FOR UPDATE SKIP LOCKED
   ), dying AS MATERIALIZED (
     SELECT workspace_id AS "workspaceId", id FROM {blobs} b
     WHERE workspace_id = $1 AND state = 'dying' AND ${isUnclaimed('b', '$3')}
     ORDER BY not_before
     LIMIT $4
     FOR UPDATE SKIP LOCKED
   )
   SELECT * FROM live UNION ALL SELECT * FROM dying WHERE NOT EXISTS (SELECT 1 FROM live)`,
  ),

  /** Only rows whose claim ends at $3. */
  postpone: statement(
    'blobs.postpone',
    `UPDATE {blobs} b SET not_before = $4, claimed_until = NULL WHERE ${OF_IDS} AND claimed_until = $3`,
  ),

  /** How many blobs `markStagedForDeletion` and `claim` would affect; an upload that started before $3 is old. */
  countDue: statement(
    'blobs.count_due',
    `SELECT count(*) AS due FROM {blobs} b
       WHERE (state = 'staged' AND created_at < $3 OR state = 'dying' AND not_before <= $1 AND ${isUnclaimed('b', '$2')})
         AND ${UNREFERENCED}`,
  ),

  /**
   * Deletes up to $3 blobs of a deleted workspace above an id ($2) that have their bytes in the row: there is nothing else to
   * remove, so no claim is needed. Excludes referenced blobs and uploads in progress.
   */
  removeInlineOfDeletedWorkspace: statement(
    'blobs.remove_inline_of_deleted_workspace',
    `WITH page AS MATERIALIZED (
         SELECT id FROM {blobs} WHERE workspace_id = $1 AND id > $2 AND location = 'inline' AND state <> 'staged'
         ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED
       ), gone AS (
         DELETE FROM {blobs} b WHERE workspace_id = $1 AND id = ANY (ARRAY(SELECT id FROM page)) AND ${UNREFERENCED} RETURNING id
       )
       SELECT count(*) AS removed, max(id::text) AS last FROM gone`,
  ),

  /** Must run under the locks, as a separate statement: only then does it see what was committed before them. */
  revive: statement(
    'blobs.revive',
    `UPDATE {blobs} b SET state = 'live', not_before = NULL
       WHERE ${OF_IDS} AND state = 'dying' AND size IS NOT NULL AND NOT (${UNREFERENCED})`,
  ),

  /** Must run under the locks, like `revive`. */
  claim: statement(
    'blobs.claim',
    `UPDATE {blobs} b SET state = 'dying', not_before = coalesce(not_before, $3), claimed_until = $4
       WHERE ${OF_IDS} AND ${UNREFERENCED}
       RETURNING workspace_id AS "workspaceId", id, location`,
  ),

  /** Only rows whose claim ends at $3: an upload that was taken for dead may since have claimed its row, with its bytes. */
  removeRows: statement(
    'blobs.remove_rows',
    `DELETE FROM {blobs} b WHERE ${OF_IDS} AND state = 'dying' AND claimed_until = $3 AND ${UNREFERENCED}`,
  ),
};

/**
 * The given ids, as long as they belong to the claim until $4; later there may be another claim, or another leftover of the
 * same key.
 */
const OF_CLAIM = `l.workspace_id = ANY ($2) AND (l.location, l.workspace_id, l.id) IN (SELECT * FROM unnest($1::text[], $2::uuid[], $3::uuid[]))
       AND l.claimed_until = $4`;

/** Due at $1 and not claimed at $2. Bytes that a row of `blobs` refers to are never deleted, whatever this table says. */
const IS_DUE = 'not_before <= $1 AND (claimed_until IS NULL OR claimed_until <= $2)';
const IS_UNNAMED = `NOT EXISTS (SELECT 1 FROM {blobs} b
                       WHERE b.workspace_id = l.workspace_id AND b.id = l.id AND b.location = l.location)`;

export const orphanedCopyStatements = {
  /**
   * Returns no row if a row of `blobs` refers to the bytes, or if they are recorded already, for example as a copy in
   * progress.
   */
  markForDeletion: statement(
    'blob_leftovers.mark_for_deletion',
    `INSERT INTO {blob_leftovers} (location, workspace_id, id, state, not_before)
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
       DELETE FROM {blob_leftovers}
       WHERE location = $1 AND workspace_id = $2 AND id = $3 AND (claimed_until IS NULL OR claimed_until <= $4)
       RETURNING id
     )
     SELECT id FROM {blob_leftovers}
     WHERE location = $1 AND workspace_id = $2 AND id = $3 AND NOT EXISTS (SELECT 1 FROM freed)`,
  ),

  /** The number of rows that `claim` would return without its limit. */
  countDue: statement(
    'blob_leftovers.count_due',
    `SELECT count(*) AS due FROM {blob_leftovers} l WHERE ${IS_DUE} AND ${IS_UNNAMED}`,
  ),

  /**
   * Also returns the other location outside the database at which a row has the bytes, if any, and their size. It runs on one
   * part after another.
   */
  claim: statement(
    'blob_leftovers.claim',
    `UPDATE {blob_leftovers} l SET state = 'dying', claimed_until = $3
     FROM (
       SELECT location, workspace_id, id FROM {blob_leftovers} l
       WHERE ${IS_DUE} AND ${IS_UNNAMED}
       ORDER BY not_before
       LIMIT $4
       FOR UPDATE SKIP LOCKED
     ) due
     LEFT JOIN {blobs} b ON b.workspace_id = due.workspace_id AND b.id = due.id
                      AND b.location <> 'inline' AND b.size IS NOT NULL
     WHERE (l.location, l.workspace_id, l.id) = (due.location, due.workspace_id, due.id)
       AND (l.claimed_until IS NULL OR l.claimed_until <= $2)
     RETURNING l.location, l.workspace_id AS "workspaceId", l.id, b.location AS named, b.size`,
  ),

  postpone: statement(
    'blob_leftovers.postpone',
    `UPDATE {blob_leftovers} l SET not_before = $5, claimed_until = NULL WHERE ${OF_CLAIM}`,
  ),

  remove: statement('blob_leftovers.remove', `DELETE FROM {blob_leftovers} l WHERE ${OF_CLAIM}`),
};

/**
 * Whether a blob belongs at a location and is not there. Small blobs belong inline, others in the store; blobs that are already
 * in a store move to the other store regardless of their size.
 */
const isDue = (to: string, inlineBytes: string): string => `state = 'live' AND location <> ${to} AND CASE
              WHEN ${to} = 'inline' THEN size <= ${inlineBytes}
              WHEN location = 'inline' THEN size > ${inlineBytes} OR ${inlineBytes} = 0
              ELSE true
            END`;

export const moveStatements = {
  /** $4 rows after ($1, $2); `isDue` marks live blobs that belong at $3 and are not there. */
  page: statement(
    'blobs.move_page',
    `WITH page AS (
       SELECT workspace_id, id, state, location, size, sha256 FROM {blobs}
       WHERE (workspace_id, id) > ($1::uuid, $2::uuid)
       ORDER BY workspace_id, id
       LIMIT $4
     )
     SELECT workspace_id AS "workspaceId", id, location, size, sha256,
            ${isDue('$3', '$5')} AS "isDue"
     FROM page
     ORDER BY workspace_id, id`,
  ),

  countDue: statement(
    'blobs.count_move_due',
    `SELECT count(*) AS due FROM {blobs} WHERE ${isDue('$1', '$2')}`,
  ),
};

export const doctorStatements = {
  /** Live blobs outside the database: $3 rows after ($1, $2). */
  stored: statement(
    'doctor.stored',
    `SELECT workspace_id AS "workspaceId", id, location, size, sha256 FROM {blobs}
     WHERE (workspace_id, id) > ($1::uuid, $2::uuid) AND state = 'live' AND location <> 'inline'
     ORDER BY workspace_id, id
     LIMIT $3`,
  ),

  /** $3 blobs after ($1, $2); `isDamaged` marks those whose inline bytes do not match their row. */
  inlinePage: statement(
    'doctor.inline_page',
    `WITH page AS (
       SELECT * FROM {blobs} WHERE (workspace_id, id) > ($1::uuid, $2::uuid) ORDER BY workspace_id, id LIMIT $3
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
     LEFT JOIN {blobs} b ON b.workspace_id = ANY ($1) AND b.workspace_id = k.workspace_id AND b.id = k.id
     LEFT JOIN {blob_leftovers} l ON l.workspace_id = ANY ($1) AND l.location = $3 AND l.workspace_id = k.workspace_id AND l.id = k.id`,
  ),

  /** Items that have been waiting for the sweeper since before $1 (uploads) or $2 (the rest). */
  overdue: statement(
    'doctor.overdue',
    `SELECT (SELECT count(*) FROM {blobs} WHERE state = 'staged' AND created_at < $1) AS staged,
            (SELECT count(*) FROM {blobs} WHERE state = 'dying' AND not_before < $2) AS dying,
            (SELECT count(*) FROM {blob_leftovers} l WHERE not_before < $2 AND ${IS_UNNAMED}) AS copies`,
  ),
};
