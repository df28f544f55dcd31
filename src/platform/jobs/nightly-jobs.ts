import { type BeforeApplicationShutdown, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Timeout } from '@nestjs/schedule';
import { CronJob, CronTime } from 'cron';
import type { Client } from 'pg';
import { Clock, drained } from '../clock.js';
import { Database, endQuietly, WITHOUT_LIMITS } from '../database/index.js';
import { Conflict } from '../http/index.js';
import { KillSwitch } from '../kill-switch.js';
import { describeError, Log } from '../log.js';
import { type Counts, JobRuns } from './job-runs.js';
import { TrustedTime } from './trusted-time.js';

/** Advisory lock of the nightly jobs. */
const NIGHT = 7_325_190_002;

/** Advisory lock of scheduled backups, which take hours and must not delay the nightly jobs. */
export const BACKUP_LOCK = 7_325_190_003;

/** Query timeout of the lock's connection. No limit: waiting for the lock may take hours. */
const NO_LIMIT = 0;

/**
 * Allows one run of jobs at a time, across all instances: an advisory lock on its own connection. Danger: a connection can be
 * lost without notice, and the lock with it, so a job must also be correct if it runs twice at the same time.
 */
@Injectable()
export class JobLock {
  constructor(private readonly database: Database) {}

  /**
   * Runs `work` under the lock. Its signal aborts when the lock is lost or `stop` aborts.
   * @param isPatient waits for the lock without a limit
   * @returns undefined when another process holds the lock, or `stop` aborts before the lock is acquired
   */
  async hold<T>(
    stop: AbortSignal,
    isPatient: boolean,
    work: (signal: AbortSignal) => Promise<T>,
    lock = NIGHT,
  ): Promise<T | undefined> {
    const hasStopped = (): boolean => stop.aborted;
    if (hasStopped()) return undefined; // no event would follow
    const client = this.database.dedicatedClient('jobs', NO_LIMIT);
    const lost = new AbortController();
    client.on('error', () => lost.abort());
    const end = (): void => void endQuietly(client);
    stop.addEventListener('abort', end, { once: true });
    try {
      await client.connect();
      await client.query(WITHOUT_LIMITS);
      const isOurs = await acquire(client, lock, isPatient);
      stop.removeEventListener('abort', end); // keep the lock until the work has ended
      return isOurs && !hasStopped() ? await work(AbortSignal.any([stop, lost.signal])) : undefined;
    } catch (error) {
      if (hasStopped()) return undefined;
      throw error;
    } finally {
      stop.removeEventListener('abort', end);
      await endQuietly(client);
    }
  }
}

async function acquire(client: Client, lock: number, isPatient: boolean): Promise<boolean> {
  const sql = isPatient
    ? 'SELECT true AS "isOurs" FROM pg_advisory_lock($1)'
    : 'SELECT pg_try_advisory_lock($1) AS "isOurs"';
  const { rows } = await client.query<{ isOurs: boolean }>(sql, [lock]);
  return rows[0]?.isOurs ?? false;
}

/**
 * A job. It must be correct even if it runs twice at the same time, or after a run was killed halfway.
 * @param now from `TrustedTime`, which rejects a wrong clock
 * @param signal once aborted, the job ends after its current batch and returns what it has done so far
 */
export type NightlyJob = (now: Date, signal: AbortSignal) => Promise<Counts>;

/** The name of the run of all jobs together. */
export const NIGHTLY = 'nightly';

const UNDER_WAY = 'another run is under way; try again when it has ended';

const MAX_ERROR = 300;

type Outcome<T> = { readonly counts: T; readonly isWhole: boolean } | { readonly error: unknown };

/** Runs the nightly jobs one after another, on one instance at a time; each run records a row. */
@Injectable()
export class NightlyJobs implements BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly jobs = new Map<string, NightlyJob>();
  private readonly stop = new AbortController();
  private readonly running = new Set<Promise<unknown>>();
  private draining: Promise<void> | undefined;

  constructor(
    private readonly lock: JobLock,
    private readonly runs: JobRuns,
    private readonly clock: Clock,
    private readonly time: TrustedTime,
    private readonly log: Log,
  ) {}

  add(name: string, job: NightlyJob): void {
    if (this.jobs.has(name)) throw new Error(`two jobs have the name ${name}`);
    this.jobs.set(name, job);
  }

  /**
   * Runs all jobs independently: a failure does not prevent the next job. Waits for other runs to end.
   * @param isDue called under the lock, so that only one of several instances runs the jobs; always due by default
   */
  async run(isDue: (now: Date) => Promise<boolean> = () => Promise.resolve(true)): Promise<void> {
    await this.held(true, async (signal) => {
      if (!(await isDue(this.clock.now()))) return;
      await this.noted(NIGHTLY, signal, () => this.runAll(signal));
    });
  }

  /**
   * Runs one job now, for the admin command, and also records a row.
   * @throws Conflict while other jobs run; the job's own error
   */
  async runAlone<T extends Counts>(
    name: string,
    job: (now: Date, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const outcome = await this.held(false, (signal) =>
      this.noted(name, signal, async () => job(await this.time.now(), signal)),
    );
    return countsOf(outcome);
  }

  /**
   * Runs a job with its own schedule under `lock`, independently of the nightly jobs, and records a row.
   * @param isDue called under the lock, so that only one of several instances runs the job
   * @returns undefined when it was not due
   * @throws Conflict while it runs elsewhere; the job's own error
   */
  async runApart<T extends Counts>(
    name: string,
    lock: number,
    isDue: () => Promise<boolean>,
    job: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    const work = async (signal: AbortSignal): Promise<{ counts: T | undefined } | { error: unknown }> =>
      (await isDue()) ? this.noted(name, signal, () => job(signal)) : { counts: undefined };
    return countsOf(await this.held(false, work, lock));
  }

  /** Running jobs end after their batch, while requests are still answered. */
  beforeApplicationShutdown(): void {
    this.stop.abort();
    this.draining = drained(Promise.allSettled(this.running));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.draining;
  }

  private async runAll(signal: AbortSignal): Promise<Counts> {
    const counts = { jobs: 0, done: 0 };
    for (const [name, job] of this.jobs) {
      if (signal.aborted) break;
      counts.jobs++;
      // If a run's row cannot be inserted, only that job is skipped.
      await this.log.bestEffort('run a nightly job', async () => {
        const outcome = await this.noted(name, signal, async () => job(await this.time.now(), signal));
        if ('counts' in outcome && outcome.isWhole) counts.done++;
      });
    }
    const { jobs, done } = counts;
    return { jobs, failed: jobs - done };
  }

  /** Runs work and records it in its own row. */
  private async noted<T extends Counts>(
    name: string,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<Outcome<T>> {
    const id = await this.runs.begin(name, this.clock.now());
    const outcome = await outcomeOf(work);
    if ('error' in outcome) this.log.error({ err: outcome.error, job: name }, 'a nightly job failed');
    const error =
      'error' in outcome ? shortMessage(outcome.error) : signal.aborted ? 'stopped before its end' : null;
    const counts = 'counts' in outcome ? outcome.counts : {};
    await this.log.bestEffort('record the end of a job', () =>
      this.runs.end(id, { endedAt: this.clock.now(), counts, error }),
    );
    return 'counts' in outcome ? { ...outcome, isWhole: error === null } : outcome;
  }

  private async held<T>(
    isPatient: boolean,
    work: (signal: AbortSignal) => Promise<T>,
    lock?: number,
  ): Promise<T | undefined> {
    const run = this.lock.hold(this.stop.signal, isPatient, work, lock);
    this.running.add(run);
    try {
      return await run;
    } finally {
      this.running.delete(run);
    }
  }
}

/** @throws Conflict when another process holds the lock; the job's own error */
function countsOf<T>(outcome: { readonly counts: T } | { readonly error: unknown } | undefined): T {
  if (!outcome) throw new Conflict(UNDER_WAY);
  if ('error' in outcome) throw outcome.error;
  return outcome.counts;
}

async function outcomeOf<T>(work: () => Promise<T>): Promise<{ counts: T } | { error: unknown }> {
  try {
    return { counts: await work() };
  } catch (error) {
    return { error };
  }
}

/** Shortens an error for a table that operators read: no stack trace, no URL with a password. */
function shortMessage(error: unknown): string {
  const { type, code, message } = describeError(error) as Record<string, string | undefined>;
  const text = [type, code, message].filter(Boolean).join(': ');
  return text.replace(/\/\/[^\s/@]+@/g, '//[redacted]@').slice(0, MAX_ERROR);
}

/** A service that missed a scheduled run catches up this long after its start. */
const CATCH_UP_AFTER_MS = 60_000;

/** When the jobs run: a cron expression, in UTC regardless of the machine's zone. */
export class NightlyTimes {
  private readonly time: CronTime;

  constructor(readonly expression: string) {
    this.time = new CronTime(expression, 'UTC', null);
  }

  after(moment: Date): Date {
    return this.time.getNextDateFrom(moment, 'UTC').toJSDate();
  }
}

/** Starts the nightly jobs at their scheduled time, but not while the kill switch blocks writes. */
@Injectable()
export class NightlySchedule implements BeforeApplicationShutdown {
  private job: CronJob | undefined;
  private running: Promise<unknown> | undefined;

  constructor(
    private readonly times: NightlyTimes,
    private readonly jobs: NightlyJobs,
    private readonly runs: JobRuns,
    private readonly killSwitch: KillSwitch,
    private readonly log: Log,
  ) {}

  begin(): void {
    this.job = new CronJob(this.times.expression, () => void this.runIfDue(), null, true, 'UTC');
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.job?.stop();
  }

  /** Runs the jobs unless they have run since the last scheduled time, on this or another instance. */
  runIfDue(): Promise<void> {
    return this.runIf((last, now) => !last || this.times.after(last) <= now);
  }

  /** Makes up for a missed run; a service that has never run the jobs waits for the next scheduled time. */
  @Timeout(CATCH_UP_AFTER_MS)
  async catchUp(): Promise<void> {
    await this.runIf((last, now) => last !== undefined && this.times.after(last) <= now);
  }

  private async runIf(isDue: (last: Date | undefined, now: Date) => boolean): Promise<void> {
    if (this.killSwitch.mode !== 'off') {
      this.log.warn({ killSwitch: this.killSwitch.mode }, 'the nightly jobs are skipped');
      return;
    }
    // Does not wait twice if it is still waiting for another instance to finish an earlier run.
    this.running ??= this.log
      .bestEffort('run the nightly jobs', () =>
        this.jobs.run(async (now) => isDue(await this.runs.lastStart(NIGHTLY, now), now)),
      )
      .finally(() => (this.running = undefined));
    await this.running;
  }
}
