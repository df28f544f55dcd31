import type { Counts } from '../../platform/jobs/index.js';

/** A workspace in which versions were thinned. */
export interface ThinnedWorkspace {
  readonly workspaceId: string;
  readonly versions: number;
  readonly blobs: number;
  readonly bytes: number;
}

/** What a run has removed, or would remove with `isDryRun`; a dry run reports no blobs. */
export interface RetentionReport {
  /** The reference time for ages. */
  readonly asOf: Date;
  readonly versions: number;
  /** Blobs that are removed after a grace period, and their bytes. */
  readonly blobs: number;
  readonly bytes: number;
  /** The number of workspaces that could not be thinned in this run. */
  readonly failed: number;
  /** The longest time for which writers of a workspace had to wait for one batch. */
  readonly longestLockMs: number;
  /** False when the run was aborted. */
  readonly isComplete: boolean;
}

/** For the row in `job_runs`. */
export function retentionCounts(report: RetentionReport): Counts {
  const { versions, blobs, bytes, failed, longestLockMs } = report;
  return { versions, blobs, bytes, failed, longestLockMs };
}
