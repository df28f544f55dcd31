import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Timeout } from '@nestjs/schedule';
import { CronJob, CronTime } from 'cron';
import { KillSwitch } from '../kill-switch/index.js';
import { Log } from '../log/index.js';
import { JobRuns } from './job-runs.js';
import { NIGHTLY, NightlyJobs } from './nightly-jobs.js';

/** A service that was off at night makes up for it when it has been up for so long. */
const CATCH_UP_AFTER_MS = 60_000;

/** When the jobs run: a cron expression, in UTC whatever the machine's zone. */
export class NightlyTimes {
  private readonly time: CronTime;

  constructor(readonly expression: string) {
    this.time = new CronTime(expression, 'UTC', null);
  }

  /** The first time after a moment. */
  after(moment: Date): Date {
    return this.time.getNextDateFrom(moment, 'UTC').toJSDate();
  }
}

/** Starts the nightly jobs when their time has come; not while the kill switch holds off what writes. */
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

  /** From now on. */
  begin(): void {
    this.job = new CronJob(this.times.expression, () => void this.runIfDue(), null, true, 'UTC');
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.job?.stop();
  }

  /** Runs the jobs unless they have run since it was last time, on this or another instance. */
  runIfDue(): Promise<void> {
    return this.runIf((last, now) => !last || this.times.after(last) <= now);
  }

  /** A night that was missed is made up for; a service that has never had one waits for its first. */
  @Timeout(CATCH_UP_AFTER_MS)
  catchUp(): Promise<void> {
    return this.runIf((last, now) => last !== undefined && this.times.after(last) <= now);
  }

  private async runIf(isDue: (last: Date | undefined, now: Date) => boolean): Promise<void> {
    if (this.killSwitch.mode !== 'off') {
      this.log.warn({ killSwitch: this.killSwitch.mode }, 'the nightly jobs are left out');
      return;
    }
    // Who still waits for last night's run of another instance need not wait twice.
    this.running ??= this.log
      .bestEffort('run the nightly jobs', () =>
        this.jobs.run(async (now) => isDue(await this.runs.lastStart(NIGHTLY, now), now)),
      )
      .finally(() => (this.running = undefined));
    await this.running;
  }
}
