import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Interval, Timeout } from '@nestjs/schedule';
import { CronJob } from 'cron';
import { Configuration } from '../../platform/config/index.js';
import { drained } from '../../platform/clock/index.js';
import { Background } from '../../platform/jobs/index.js';
import { KillSwitch } from '../../platform/kill-switch/index.js';
import { Log } from '../../platform/log/index.js';
import { runAdmin } from './admin-process.js';
import { BackupTimes } from './backup-times.js';

/** A service that was down at the scheduled time catches up after it has been up for this long. */
const CATCH_UP_AFTER_MS = 60_000;

/** What a backup by hand, the kill switch or the death of another instance has kept from being made is made up for then. */
export const LOOK_AGAIN = 'look for a missed backup';
const LOOK_EVERY_MS = 30 * 60_000;

/**
 * Starts scheduled backups, each in a process of its own with a low priority: neither its work nor a disk that hangs takes
 * anything from requests. That process takes the lock, so of several instances one makes the backup.
 */
@Injectable()
export class BackupSchedule
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  private readonly stop = new AbortController();
  private job: CronJob | undefined;
  private running: Promise<unknown> | undefined;
  private draining: Promise<void> | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly background: Background,
    private readonly times: BackupTimes,
    private readonly killSwitch: KillSwitch,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    const { backupCron, backupDir } = this.configuration;
    if (!this.background.isOn || backupDir === undefined) return;
    this.job = new CronJob(backupCron, () => void this.runIfDue(), null, true, 'UTC');
  }

  /** Ends a backup under way, which the next start repeats. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stop.abort();
    this.draining = drained(Promise.allSettled([this.running]));
    await this.job?.stop();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.draining;
  }

  /** Makes a backup if one is due and no instance is making one. Never rejects: a failure is logged, and its run has a row. */
  async runIfDue(): Promise<void> {
    if (this.configuration.backupDir === undefined) return;
    this.running ??= this.log
      .bestEffort('start the scheduled backup', () => this.run())
      .finally(() => (this.running = undefined));
    await this.running;
  }

  @Timeout(CATCH_UP_AFTER_MS)
  catchUp(): Promise<void> {
    return this.runIfDue();
  }

  @Interval(LOOK_AGAIN, LOOK_EVERY_MS)
  lookAgain(): Promise<void> {
    return this.runIfDue();
  }

  private async run(): Promise<void> {
    if (!(await this.times.isDue())) return;
    if (this.killSwitch.mode !== 'off') {
      this.log.warn({ killSwitch: this.killSwitch.mode }, 'the scheduled backup waits for the kill switch');
      return;
    }
    const { code, output, fault, wasStopped } = await runAdmin(
      ['backup', 'run', '--if-due'],
      this.stop.signal,
    );
    if (wasStopped) this.log.warn({}, 'the scheduled backup was stopped before its end');
    else if (code === 0) this.log.info({ result: output }, 'the scheduled backup has ended');
    else this.log.error({ code, reason: fault || output }, 'the scheduled backup failed');
  }
}
