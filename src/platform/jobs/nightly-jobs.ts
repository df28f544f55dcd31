import { type BeforeApplicationShutdown, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Clock, drained } from '../clock/index.js';
import { Conflict } from '../http/index.js';
import { describeError, Log } from '../log/index.js';
import { JobLock } from './job-lock.js';
import type { Counts } from './job-run.entity.js';
import { JobRuns } from './job-runs.js';
import { TrustedTime } from './trusted-time.js';

/**
 * A job. It must also be correct if it runs twice at the same time or was killed halfway before.
 * @param now from `TrustedTime`, which rejects a wrong clock
 * @param signal once aborted, the job ends after its current batch and returns what it has done so far
 */
export type NightlyJob = (now: Date, signal: AbortSignal) => Promise<Counts>;

/** The name of the run of all jobs together. */
export const NIGHTLY = 'nightly';

const UNDER_WAY = 'another run is under way; try again when it has ended';

const MAX_ERROR = 300;

type Outcome<T> = { readonly counts: T; readonly isWhole: boolean } | { readonly error: unknown };

/** Runs the nightly jobs one after the other, on one instance at a time; each run leaves a row. */
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

  /** Modules with nightly work register it at set-up. */
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
   * Runs one job now, for the admin command, and also leaves a row.
   * @throws Conflict while other jobs run; the job's own error
   */
  async runAlone<T extends Counts>(
    name: string,
    job: (now: Date, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const outcome = await this.held(false, (signal) =>
      this.noted(name, signal, async () => job(await this.time.now(), signal)),
    );
    if (!outcome) throw new Conflict(UNDER_WAY);
    if ('error' in outcome) throw outcome.error;
    return outcome.counts;
  }

  /**
   * Runs a job with a schedule of its own under `lock`, beside the nightly jobs, and leaves a row.
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
    const work = async (signal: AbortSignal): Promise<{ counts?: T } | { error: unknown }> =>
      (await isDue()) ? this.noted(name, signal, () => job(signal)) : {};
    const outcome = await this.held(false, work, lock);
    if (!outcome) throw new Conflict(UNDER_WAY);
    if ('error' in outcome) throw outcome.error;
    return outcome.counts;
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

async function outcomeOf<T>(work: () => Promise<T>): Promise<{ counts: T } | { error: unknown }> {
  try {
    return { counts: await work() };
  } catch (error) {
    return { error };
  }
}

/** Limits what goes into a table that people read: no stack trace, no URL with a password. */
function shortMessage(error: unknown): string {
  const { type, code, message } = describeError(error) as Record<string, string | undefined>;
  const text = [type, code, message].filter(Boolean).join(': ');
  return text.replace(/\/\/[^\s/@]+@/g, '//[redacted]@').slice(0, MAX_ERROR);
}
