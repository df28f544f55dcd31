import { Injectable } from '@nestjs/common';
import { countThinnable } from '../files/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database } from '../platform/database/index.js';
import { Log } from '../platform/log/index.js';
import { supersededVersions, workspaceIds } from './history-walk.js';
import { LockedThinning } from './locked-thinning.js';
import type { RetentionReport, ThinnedWorkspace } from './retention-report.js';
import { retentionStatements } from './retention.queries.js';

/** The maximum step beyond the previous run. A larger step means that the clock is wrong or the service was off. */
const FURTHEST_MS = 48 * 60 * 60_000;

export interface RetentionOptions {
  readonly isDryRun?: boolean;
  /** Ends the run after the current batch. */
  readonly signal?: AbortSignal | undefined;
  /** Called for each workspace in which versions are thinned. */
  readonly onWorkspace?: (workspace: ThinnedWorkspace) => void;
}

/**
 * Thins old versions; retention-rule.ts defines which. Concurrent runs, and a run that is killed and started again,
 * have the same result as one run.
 */
@Injectable()
export class Retention {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /**
   * The nightly run. It advances at most 48 hours beyond the previous run: a clock that has jumped ahead by a year
   * thins only what is due within two days, and after a month off the service catches up by one day each night.
   */
  async runDue(now: Date, options: RetentionOptions = {}): Promise<RetentionReport> {
    const [last] = await this.database.run<{ asOf: Date }>(retentionStatements.progress, []);
    const furthest = last ? new Date(last.asOf.getTime() + FURTHEST_MS) : now;
    if (now > furthest)
      this.log.warn({ now, last: last?.asOf, asOf: furthest }, 'retention advances at most 48 hours per run');
    const report = await this.run(now > furthest ? furthest : now, options);
    if (report.isComplete && !options.isDryRun)
      await this.database.run(retentionStatements.saveProgress, [report.asOf]);
    return report;
  }

  /** Runs as of any time, regardless of the clock and earlier runs: for operators who know what they are doing. */
  async run(asOf: Date, options: RetentionOptions = {}): Promise<RetentionReport> {
    const thinning = new LockedThinning(this.database, this.clock, asOf);
    const total = { ...NOTHING, failed: 0 };
    for await (const workspaceId of workspaceIds(this.database)) {
      if (options.signal?.aborted) break;
      const counts = { ...NOTHING };
      // A failure in one workspace must not keep the others from being thinned.
      const isDone = await this.log.bestEffort('thin a workspace', () =>
        this.runOn(workspaceId, thinning, options, counts),
      );
      if (!isDone) total.failed++;
      add(counts, total);
      if (counts.versions > 0) options.onWorkspace?.({ workspaceId, ...counts });
    }
    const isComplete = options.signal?.aborted !== true;
    return { asOf, ...total, longestLockMs: thinning.longestLockMs, isComplete };
  }

  private async runOn(
    workspaceId: string,
    thinning: LockedThinning,
    { isDryRun, signal }: RetentionOptions,
    counts: Counts,
  ): Promise<void> {
    const batches = supersededVersions(this.database, workspaceId, thinning.asOf, () => thinning.batchSize);
    for await (const batch of batches) {
      if (signal?.aborted) return;
      if (isDryRun) {
        counts.versions += await this.database.snapshot((tx) =>
          countThinnable(tx, workspaceId, batch.versionIds),
        );
        continue;
      }
      const thinned = await thinning.thin(workspaceId, batch);
      if (!thinned) return;
      add(thinned, counts);
    }
  }
}

type Counts = Record<'versions' | 'blobs' | 'bytes', number>;

const NOTHING: Readonly<Counts> = { versions: 0, blobs: 0, bytes: 0 };

function add({ versions, blobs, bytes }: Readonly<Counts>, total: Counts): void {
  total.versions += versions;
  total.blobs += blobs;
  total.bytes += bytes;
}
