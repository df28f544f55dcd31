import { statement, type Tx } from '../platform/database/index.js';

/** Versions that are to go from a workspace. */
export interface Thinning {
  readonly workspaceId: string;
  readonly versionIds: readonly string[];
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

/** The versions of a file share blobs where one was restored, so a blob is dying when its last version has gone. */
const removeVersions = statement(
  'thinning.remove_versions',
  `WITH gone AS (
     DELETE FROM versions v USING files f
     WHERE v.workspace_id = $1 AND v.id = ANY ($2::uuid[])
       AND f.workspace_id = $1 AND f.id = v.file_id AND f.version <> v.version
     RETURNING v.id, v.blob_id
   ), dying AS (
     UPDATE blobs b SET state = 'dying', not_before = $3
     WHERE b.workspace_id = $1 AND b.id IN (SELECT blob_id FROM gone) AND b.state = 'live'
       AND NOT EXISTS (SELECT FROM versions v WHERE v.workspace_id = $1 AND v.blob_id = b.id
                         AND v.id NOT IN (SELECT id FROM gone))
     RETURNING b.size
   )
   SELECT (SELECT count(*) FROM gone) AS versions, count(*) AS blobs, coalesce(sum(size), 0)::bigint AS bytes FROM dying`,
);

/**
 * Removes versions and condemns the blobs that only they had; the log stays as it is. To be called under the log's
 * lock. Danger: whether a checkpoint pins a version is for the caller to know, under the same lock. A file's head stays
 * whoever asks, also that of a deleted file.
 */
export async function thinVersions(tx: Tx, thinning: Thinning): Promise<Thinned> {
  const { workspaceId, versionIds, notBefore } = thinning;
  const [thinned] = await tx.run<Thinned>(removeVersions, [workspaceId, versionIds, notBefore]);
  if (!thinned) throw new Error('the thinning returned no row');
  return thinned;
}
