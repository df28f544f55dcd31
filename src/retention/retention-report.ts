import type { Counts } from '../platform/jobs/index.js';

/** Where something goes. */
export interface ThinnedWorkspace {
  readonly workspaceId: string;
  readonly versions: number;
  readonly blobs: number;
  readonly bytes: number;
}

/** What a run has done, or with `isDryRun` would do: such a run knows no blobs. */
export interface RetentionReport {
  /** The time as of which ages were told. */
  readonly asOf: Date;
  readonly versions: number;
  /** Blobs that go after a grace, and their bytes. */
  readonly blobs: number;
  readonly bytes: number;
  /** Workspaces that could not be thinned this time. */
  readonly failed: number;
  /** The longest that writers of a workspace had to wait for one batch. */
  readonly longestLockMs: number;
  /** False when it was told to stop before the end. */
  readonly isComplete: boolean;
}

/** For the row in `job_runs`. */
export function retentionCounts(report: RetentionReport): Counts {
  const { versions, blobs, bytes, failed, longestLockMs } = report;
  return { versions, blobs, bytes, failed, longestLockMs };
}
