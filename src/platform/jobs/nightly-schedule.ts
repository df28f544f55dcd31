import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Timeout } from '@nestjs/schedule';
import { CronJob, CronTime } from 'cron';
import { KillSwitch } from '../kill-switch/index.js';
import { Log } from '../log/index.js';
import { JobRuns } from './job-runs.js';
import { NIGHTLY, NightlyJobs } from './nightly-jobs.js';

/** A service that was down at night catches up after it has been up for this long. */
const CATCH_UP_AFTER_MS = 60_000;

/** When the jobs run: a cron expression, in UTC regardless of the machine's zone. */
export class NightlyTimes {
  private readonly time: CronTime;

  constructor(readonly expression: string) {
    this.time = new CronTime(expression, 'UTC', null);
  }

  /** The first scheduled time after a moment. */
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

  /** Makes up for a missed night; a service that has never run the jobs waits for its first night. */
  @Timeout(CATCH_UP_AFTER_MS)
  async catchUp(): Promise<void> {
    await this.runIf((last, now) => last !== undefined && this.times.after(last) <= now);
  }

  private async runIf(isDue: (last: Date | undefined, now: Date) => boolean): Promise<void> {
    if (this.killSwitch.mode !== 'off') {
      this.log.warn({ killSwitch: this.killSwitch.mode }, 'the nightly jobs are skipped');
      return;
    }
    // If still waiting for another instance to finish last night's run, do not wait twice.
    this.running ??= this.log
      .bestEffort('run the nightly jobs', () =>
        this.jobs.run(async (now) => isDue(await this.runs.lastStart(NIGHTLY, now), now)),
      )
      .finally(() => (this.running = undefined));
    await this.running;
  }
}
