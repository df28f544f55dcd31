import { Injectable } from '@nestjs/common';
import { countThinnable } from '../files/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database } from '../platform/database/index.js';
import { Log } from '../platform/log/index.js';
import { supersededVersions, workspaceIds } from './history-walk.js';
import { LockedThinning } from './locked-thinning.js';
import type { RetentionReport, ThinnedWorkspace } from './retention-report.js';
import { retentionStatements } from './retention.queries.js';

/** How much further than the last run a run may look. Beyond, the clock is wrong, or the service was off. */
const FURTHEST_MS = 48 * 60 * 60_000;

export interface RetentionOptions {
  readonly isDryRun?: boolean;
  /** Ends the run after the batch that is under way. */
  readonly signal?: AbortSignal | undefined;
  /** Hears of each workspace in which something goes. */
  readonly onWorkspace?: (workspace: ThinnedWorkspace) => void;
}

/**
 * Thins old versions: see retention-rule.ts for which. Any number of runs at once, or one that was killed and the next
 * one, come to the same as one run.
 */
@Injectable()
export class Retention {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /**
   * The nightly run. It looks at most 48 hours further than the last one did: a clock that has jumped ahead by a year
   * thins what is due within two days, and after a month off the service catches up by a day each night.
   */
  async runDue(now: Date, options: RetentionOptions = {}): Promise<RetentionReport> {
    const [last] = await this.database.run<{ asOf: Date }>(retentionStatements.progress, []);
    const furthest = last ? new Date(last.asOf.getTime() + FURTHEST_MS) : now;
    if (now > furthest)
      this.log.warn({ now, last: last?.asOf, asOf: furthest }, 'retention goes on 48 hours at a time');
    const report = await this.run(now > furthest ? furthest : now, options);
    if (report.isComplete && !options.isDryRun)
      await this.database.run(retentionStatements.saveProgress, [report.asOf]);
    return report;
  }

  /** As of any time, whatever the clock and earlier runs say: for who knows what they do. */
  async run(asOf: Date, options: RetentionOptions = {}): Promise<RetentionReport> {
    const thinning = new LockedThinning(this.database, this.clock, asOf);
    const total = { ...NOTHING, failed: 0 };
    for await (const workspaceId of workspaceIds(this.database)) {
      if (options.signal?.aborted) break;
      const counts = { ...NOTHING };
      // One workspace's fault must not keep the others from being thinned.
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
