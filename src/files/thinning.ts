import { statement, type WorkspaceTx } from '../platform/database/index.js';

/** Version ids of a workspace in PostgreSQL array syntax: thousands of them are passed back to the database unparsed. */
export type VersionIds = string;

export interface Thinning {
  readonly workspaceId: string;
  readonly versionIds: VersionIds;
  /** Blobs that lose their last version in this run must not be removed before this time. */
  readonly notBefore: Date;
}

export interface Thinned {
  readonly versions: number;
  /** Blobs no longer referenced by any version, and their bytes. */
  readonly blobs: number;
  readonly bytes: number;
}

/**
 * Those of the versions $2 that are neither current nor pinned. A checkpoint pins the version that was a file's
 * newest at the checkpoint's cursor. So if any checkpoint pins a version, the first checkpoint at or after the
 * version's change does: then no other change of the file lies between the two.
 *
 * The lookups run one by one, in the order of their key (`BETWEEN` the key and itself, with ORDER BY): with sorts
 * disabled (`transactionSettings`) only the key's index qualifies. With `=`, any index that starts with the workspace
 * would qualify, and PostgreSQL rates it equally cheap if the workspace was small at the last ANALYZE; it would then
 * scan the whole workspace for each row.
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
   * Run it first in the transaction. It makes every step an index lookup per row, so the cost grows with the number
   * of requested versions, not with the workspace. It also makes the commit asynchronous: if a power failure loses a
   * thinning, the next run repeats it.
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
   * A restored version shares the blob of its source, so a blob is marked `dying`, and stops counting as used, only
   * when its last version is removed. Versions are never updated, so their ctids are stable. Danger: a ctid is a place in one
   * partition; without the workspace, rows of other workspaces at that place would be deleted too.
   */
  remove: statement(
    'thinning.remove',
    `WITH gone AS (
       DELETE FROM versions WHERE workspace_id = $1 AND ctid = ANY (ARRAY (${EXPENDABLE})) RETURNING id, blob_id
     ), marked AS (
       UPDATE blobs b SET state = 'dying', not_before = $3
       WHERE b.workspace_id = $1 AND b.id = ANY (ARRAY (SELECT blob_id FROM gone)) AND b.state = 'live'
         AND (SELECT true FROM versions
              WHERE workspace_id = $1 AND blob_id BETWEEN b.id AND b.id AND id NOT IN (SELECT id FROM gone)
              ORDER BY blob_id LIMIT 1) IS NULL
       RETURNING b.size
     ), given_back AS (
       UPDATE workspaces SET document_bytes = greatest(document_bytes - (SELECT sum(size)::bigint FROM marked), 0)
       WHERE id = $1 AND EXISTS (SELECT 1 FROM marked)
     )
     SELECT (SELECT count(*) FROM gone) AS versions, count(*) AS blobs, coalesce(sum(size), 0)::bigint AS bytes FROM marked`,
  ),
};

/** Call it before taking the lock: see `transactionSettings`. */
export async function prepareThinning(tx: WorkspaceTx): Promise<void> {
  await tx.run(statements.transactionSettings, []);
}

/**
 * Removes those of the versions that are neither their file's current version nor pinned by a checkpoint, and marks
 * the blobs that only they used for deletion. The log is not changed. Call it under the log's lock: uploads, restores
 * and checkpoints then happen before or after it, never in between.
 */
export async function thinVersions(
  tx: WorkspaceTx,
  { workspaceId, versionIds, notBefore }: Thinning,
): Promise<Thinned> {
  const [thinned] = await tx.run<Thinned>(statements.remove, [workspaceId, versionIds, notBefore]);
  if (!thinned) throw new Error('the thinning returned no row');
  return thinned;
}

/** Returns the number of versions that would be removed. */
export async function countThinnable(
  tx: WorkspaceTx,
  workspaceId: string,
  versionIds: VersionIds,
): Promise<number> {
  await tx.run(statements.transactionSettings, []);
  const [count] = await tx.run<{ versions: number }>(statements.count, [workspaceId, versionIds]);
  return count?.versions ?? 0;
}
