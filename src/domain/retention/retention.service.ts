import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Column, Entity, PrimaryColumn, type Repository } from 'typeorm';
import { Clock } from '../../platform/clock.js';
import { Database, type Parameter, removeInBatches, type Statement } from '../../platform/database/index.js';
import { type Counts, NightlyJobs } from '../../platform/jobs/index.js';
import { Log } from '../../platform/log.js';
import { GIVE_UP_AFTER_MS } from '../../platform/mail/index.js';
import { HOUR_MS, KNOWN_FOR_MS } from '../auth/index.js';
import { countThinnable, type Thinned } from '../files/index.js';
import { liveWorkspaceIds, WorkspaceEntity } from '../workspaces/index.js';
import {
  type Batch,
  type DueTimes,
  RetentionProgress,
  supersededOf,
  supersededVersions,
} from './history-walk.js';
import { LockedThinning } from './locked-thinning.js';
import { type DueFile, RetentionQueue } from './retention-queue.js';
import { expiredRowStatements } from './retention.queries.js';

/** A workspace in which versions were thinned. */
export interface ThinnedWorkspace extends Thinned {
  readonly workspaceId: string;
}

/** The removals of a run, or with `isDryRun` those that it would make; a dry run reports no blobs. */
export interface RetentionReport extends Thinned {
  /** The reference time for ages. */
  readonly asOf: Date;
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
    private readonly queue: RetentionQueue,
    @InjectRepository(RetentionProgress) private readonly progress: Repository<RetentionProgress>,
    @InjectRepository(WorkspaceEntity) private readonly workspaces: Repository<WorkspaceEntity>,
  ) {}

  /**
   * The nightly run. It examines only files that are due, and removes what `run` as of the same time would. It advances at most
   * 48 hours beyond the previous run: a clock that has jumped ahead by a year thins only what is due within two days, and after a
   * month off the service catches up by one day each night.
   */
  async runDue(now: Date, options: RetentionOptions = {}): Promise<RetentionReport> {
    const last = await this.progress.findOneBy({ id: true });
    const furthest = last ? new Date(last.asOf.getTime() + FURTHEST_MS) : now;
    if (now > furthest)
      this.log.warn({ now, last: last?.asOf, asOf: furthest }, 'retention advances at most 48 hours per run');
    const asOf = now > furthest ? furthest : now;
    // A dry run must not change the queue.
    if (options.isDryRun) return this.run(asOf, options);
    const report = await this.runOnAll(asOf, this.queue.workspaces(asOf), options, async (run) => {
      await this.queue.refresh(run.workspaceId, furthest);
      for await (const files of this.queue.due(run.workspaceId, asOf))
        if (!(await this.thinFiles(files, run))) return;
    });
    if (report.isComplete) await this.progress.upsert({ id: true, asOf: report.asOf }, ['id']);
    return report;
  }

  /** Thins as of any time, regardless of the clock and of earlier runs, and examines all versions. For operators only. */
  run(asOf: Date, options: RetentionOptions = {}): Promise<RetentionReport> {
    return this.runOnAll(asOf, liveWorkspaceIds(this.workspaces), options, async (run) => {
      const { workspaceId, thinning } = run;
      const batches = supersededVersions(this.database, workspaceId, asOf, () => thinning.batchSize);
      for await (const batch of batches) if (!(await this.thin(batch, run))) return;
    });
  }

  private async runOnAll(
    asOf: Date,
    workspaces: AsyncIterable<string>,
    options: RetentionOptions,
    runOn: (run: Run) => Promise<void>,
  ): Promise<RetentionReport> {
    const thinning = new LockedThinning(this.database, this.clock, asOf);
    const total = { ...NOTHING, failed: 0 };
    for await (const workspaceId of workspaces) {
      if (options.signal?.aborted) break;
      const counts = { ...NOTHING };
      // A failure in one workspace must not keep the others from being thinned.
      const isDone = await this.log.bestEffort('thin a workspace', () =>
        runOn({ workspaceId, thinning, options, counts }),
      );
      if (!isDone) total.failed++;
      add(counts, total);
      if (counts.versions > 0) options.onWorkspace?.({ workspaceId, ...counts });
    }
    const isComplete = options.signal?.aborted !== true;
    return { asOf, ...total, longestLockMs: thinning.longestLockMs, isComplete };
  }

  /** Thins files that are due. Returns false, and leaves them due, when the run has to end. */
  private async thinFiles(files: readonly DueFile[], run: Run): Promise<boolean> {
    const { workspaceId, thinning } = run;
    const histories = { workspaceId, files: files.map(({ fileId }) => fileId), now: thinning.asOf };
    const pinned = new Set<string>();
    let due: DueTimes = new Map();
    const batches = supersededOf(
      this.database,
      histories,
      () => thinning.batchSize,
      (times) => (due = times),
    );
    for await (const batch of batches) {
      const thinned = await this.thin(batch, run);
      if (!thinned) return false;
      if (thinned.versions === batch.versions) continue;
      for (const file of await this.queue.filesOf(workspaceId, batch.versionIds)) pinned.add(file);
    }
    await this.queue.settle(workspaceId, files, { due, pinned }, thinning.asOf);
    return true;
  }

  /** Undefined when the workspace has been deleted or the run was aborted. */
  private async thin(
    batch: Batch,
    { workspaceId, thinning, options, counts }: Run,
  ): Promise<Removed | undefined> {
    if (options.signal?.aborted) return undefined;
    const thinned = options.isDryRun
      ? {
          ...NOTHING,
          versions: await this.database.snapshot((tx) => countThinnable(tx, workspaceId, batch.versionIds)),
        }
      : await thinning.thin(workspaceId, batch);
    if (thinned) add(thinned, counts);
    return thinned;
  }
}

/** A run on one workspace. */
interface Run {
  readonly workspaceId: string;
  readonly thinning: LockedThinning;
  readonly options: RetentionOptions;
  /** The removals so far. */
  readonly counts: Removed;
}

type Removed = Record<'versions' | 'blobs' | 'bytes', number>;

const NOTHING: Readonly<Removed> = { versions: 0, blobs: 0, bytes: 0 };

function add({ versions, blobs, bytes }: Readonly<Removed>, total: Removed): void {
  total.versions += versions;
  total.blobs += blobs;
  total.bytes += bytes;
}

/** How far the nightly runs have read the log of a workspace. */
@Entity('retention_marks')
export class RetentionMark {
  @PrimaryColumn('uuid')
  workspaceId: string;

  @Column('bigint')
  cursor: number;

  /** The rule under which the log was read. */
  @Column('text')
  rule: string;

  /** Whether a checkpoint was deleted since. */
  @Column('boolean', { default: false })
  hasUnpinned: boolean;
}

const BATCH = 1_000;

/** A window of hits ends after a minute; this allows for other instances whose clocks are behind. */
const HITS_KEPT_MS = 10 * 60_000;

/** How long the audit log is kept. */
const AUDIT_KEPT_MS = 400 * 24 * HOUR_MS;

type Removal = (now: Date, signal: AbortSignal) => Promise<{ removed: number }>;

/** Removes expired rows every night, in bounded batches. */
@Injectable()
export class ExpiredRows {
  constructor(
    private readonly database: Database,
    jobs: NightlyJobs,
  ) {
    jobs.add('one-time-tokens', this.removing(expiredRowStatements.oneTimeTokens, asOf));
    jobs.add('sessions', this.removing(expiredRowStatements.sessions, asOf));
    jobs.add('ended-sessions', this.removing(expiredRowStatements.endedSessions, before(HOUR_MS)));
    jobs.add(
      'presence',
      this.removing(expiredRowStatements.instances, () => []),
    );
    jobs.add('rate-limits', this.removing(expiredRowStatements.hits, before(HITS_KEPT_MS)));
    jobs.add('wrong-passwords', this.removing(expiredRowStatements.wrongPasswords, before(HOUR_MS)));
    jobs.add('audit-events', this.removing(expiredRowStatements.auditEvents, before(AUDIT_KEPT_MS)));
    jobs.add('invitations', this.removing(expiredRowStatements.invitations, asOf));
    jobs.add('mail-links', this.removing(expiredRowStatements.mailLinks, before(2 * GIVE_UP_AFTER_MS)));
    jobs.add('known-networks', this.removing(expiredRowStatements.knownNetworks, before(KNOWN_FOR_MS)));
  }

  private removing(query: Statement, valuesAt: (now: Date) => Parameter[]): Removal {
    return async (now, signal) => {
      const batch = (): Promise<unknown[]> => this.database.run(query, [BATCH, ...valuesAt(now)]);
      return { removed: await removeInBatches(BATCH, batch, signal) };
    };
  }
}

const asOf = (now: Date): Date[] => [now];

const before =
  (ms: number) =>
  (now: Date): Date[] => [new Date(now.getTime() - ms)];
