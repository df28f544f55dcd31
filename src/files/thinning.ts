import { statement, type Tx } from '../platform/database/index.js';

/** Versions of a workspace, as PostgreSQL writes an array of their ids: they go back as they came, by the thousand. */
export type VersionIds = string;

export interface Thinning {
  readonly workspaceId: string;
  readonly versionIds: VersionIds;
  /** No blob that loses its last version by this may be removed before. */
  readonly notBefore: Date;
}

/** What has gone. */
export interface Thinned {
  readonly versions: number;
  /** Blobs that no version refers to any more, and their bytes. */
  readonly blobs: number;
  readonly bytes: number;
}

/**
 * Those of the versions $2 that are neither current nor pinned. A checkpoint pins what was a file's newest at its
 * cursor: so one that does is the first at or after the change that made the version, with no other change of the file up to it.
 * Looked up one after the other, and each in the order of its key (between it and itself, to be first in that order): with
 * sorts off (`transactionSettings`) only the index of the key will do. By `=` any index that begins with the workspace
 * would, and PostgreSQL takes it to be as cheap when the workspace was small at the last analysis: the whole of it for each row.
 */
const EXPENDABLE = `
  SELECT v.place
  FROM unnest($2::uuid[]) AS asked (id)
  CROSS JOIN LATERAL (
    SELECT ctid AS place, file_id, version, change_cursor FROM versions
    WHERE workspace_id = $1 AND id BETWEEN asked.id AND asked.id ORDER BY id LIMIT 1
  ) v
  CROSS JOIN LATERAL (
    SELECT version FROM files WHERE workspace_id = $1 AND id BETWEEN v.file_id AND v.file_id ORDER BY id LIMIT 1
  ) f
  LEFT JOIN LATERAL (
    SELECT cursor FROM checkpoints WHERE workspace_id = $1 AND cursor >= v.change_cursor ORDER BY cursor LIMIT 1
  ) mark ON true
  WHERE f.version <> v.version AND (mark.cursor IS NULL OR v.change_cursor < (
    SELECT cursor FROM changes
    WHERE workspace_id = $1 AND file_id BETWEEN v.file_id AND v.file_id AND cursor <= mark.cursor
    ORDER BY file_id, cursor DESC LIMIT 1
  ))`;

const statements = {
  /**
   * To be run first in the transaction. Every step is then found by index, row by row, so that it grows with the
   * versions asked for and never with the workspace. And the commit does not wait for the disk: a thinning that a
   * power cut takes back is done again by the next run.
   */
  transactionSettings: statement(
    'thinning.by_index',
    `SELECT set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true),
            set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
            set_config('enable_mergejoin', 'off', true), set_config('enable_material', 'off', true),
            set_config('enable_sort', 'off', true), set_config('synchronous_commit', 'off', true)`,
  ),

  count: statement('thinning.count', `SELECT count(*) AS versions FROM (${EXPENDABLE}) expendable`),

  /**
   * A restored version shares the blob of its source, so a blob is dying when its last version has gone, and no longer counts
   * as used. Versions are never updated, so the place of one stays its own.
   */
  remove: statement(
    'thinning.remove',
    `WITH gone AS (
       DELETE FROM versions WHERE ctid = ANY (ARRAY (${EXPENDABLE})) RETURNING id, blob_id
     ), marked AS (
       UPDATE blobs b SET state = 'dying', not_before = $3
       WHERE b.workspace_id = $1 AND b.id = ANY (ARRAY (SELECT blob_id FROM gone)) AND b.state = 'live'
         AND (SELECT true FROM versions
              WHERE workspace_id = $1 AND blob_id BETWEEN b.id AND b.id AND id NOT IN (SELECT id FROM gone)
              ORDER BY blob_id LIMIT 1) IS NULL
       RETURNING b.size
     ), given_back AS (
       UPDATE workspaces SET document_bytes = greatest(document_bytes - (SELECT sum(size)::bigint FROM marked), 0)
       WHERE id = $1 AND EXISTS (SELECT FROM marked)
     )
     SELECT (SELECT count(*) FROM gone) AS versions, count(*) AS blobs, coalesce(sum(size), 0)::bigint AS bytes FROM marked`,
  ),
};

/** Before the lock is taken: see `transactionSettings`. */
export async function prepareThinning(tx: Tx): Promise<void> {
  await tx.run(statements.transactionSettings, []);
}

/**
 * Removes those of the versions that are neither their file's current one nor pinned by a checkpoint, and marks for deletion the
 * blobs that only they had; the log stays as it is. To be called under the log's lock: uploads, restores and
 * checkpoints come before it or after it, never in between.
 */
export async function thinVersions(
  tx: Tx,
  { workspaceId, versionIds, notBefore }: Thinning,
): Promise<Thinned> {
  const [thinned] = await tx.run<Thinned>(statements.remove, [workspaceId, versionIds, notBefore]);
  if (!thinned) throw new Error('the thinning returned no row');
  return thinned;
}

/** How many of the versions would go. */
export async function countThinnable(tx: Tx, workspaceId: string, versionIds: VersionIds): Promise<number> {
  await tx.run(statements.transactionSettings, []);
  const [count] = await tx.run<{ versions: number }>(statements.count, [workspaceId, versionIds]);
  return count?.versions ?? 0;
}
