import type { WorkspaceTx } from '../../platform/database/index.js';
import { thinningStatements } from './files.queries.js';

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

/** Call it before taking the lock: see `transactionSettings`. */
export async function prepareThinning(tx: WorkspaceTx): Promise<void> {
  await tx.run(thinningStatements.transactionSettings, []);
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
  const [thinned] = await tx.run<Thinned>(thinningStatements.remove, [workspaceId, versionIds, notBefore]);
  if (!thinned) throw new Error('the thinning returned no row');
  return thinned;
}

/** Returns the number of versions that would be removed. */
export async function countThinnable(
  tx: WorkspaceTx,
  workspaceId: string,
  versionIds: VersionIds,
): Promise<number> {
  await tx.run(thinningStatements.transactionSettings, []);
  const [count] = await tx.run<{ versions: number }>(thinningStatements.count, [workspaceId, versionIds]);
  return count?.versions ?? 0;
}
