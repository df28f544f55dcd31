import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Interval, Timeout } from '@nestjs/schedule';
import { spawn } from 'node:child_process';
import { CronJob } from 'cron';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Clock, drained } from '../../platform/clock.js';
import { Configuration } from '../../platform/config/index.js';
import { Background, JobRuns, KEPT_RUNS, NightlyTimes } from '../../platform/jobs/index.js';
import { KillSwitch } from '../../platform/kill-switch.js';
import { Log } from '../../platform/log.js';
import { Metrics, type Reading } from '../../platform/metrics.js';

export interface AdminResult {
  /** Null when a signal has ended it, or it could not be started. */
  readonly code: number | null;
  /** The last line of stdout. */
  readonly output: string;
  /** The last line of stderr. */
  readonly fault: string;
  readonly wasStopped: boolean;
}

/** The admin command: beside the bundle, in the compiler's output, and in the build that tests of the sources use. */
const PLACES = ['./admin.js', '../admin/main.js', '../../../dist/service/admin.js'];

const FLAGS = ['--max-old-space-size=256', '--max-semi-space-size=8'];
const MOST_TEXT = 4_096;
/** Grace period before SIGKILL for a process that does not end on SIGTERM, such as one that waits for a disk. */
const KILL_AFTER_MS = 5_000;

/** The program of the admin command, for a module at this address. */
export function adminProgramFor(module: string): string {
  const files = PLACES.map((place) => fileURLToPath(new URL(place, module)));
  return files.find((file) => existsSync(file)) ?? '';
}

/** Runs an admin command in a separate process, with this process's environment and a low priority. */
export async function runAdmin(args: readonly string[], signal: AbortSignal): Promise<AdminResult> {
  const file = adminProgramFor(import.meta.url);
  const child = spawn(process.execPath, [...FLAGS, file, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [output, fault] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (output = (output + String(chunk)).slice(-MOST_TEXT)));
  child.stderr.on('data', (chunk: Buffer) => (fault = (fault + String(chunk)).slice(-MOST_TEXT)));
  const ended = once(child, 'exit');
  lowerPriority(child.pid);
  let killing: NodeJS.Timeout | undefined;
  const end = (): void => {
    child.kill('SIGTERM');
    killing = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
  };
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    const [code] = (await ended) as [number | null];
    return { code, output: lastLine(output), fault: lastLine(fault), wasStopped: signal.aborted };
  } finally {
    clearTimeout(killing);
    signal.removeEventListener('abort', end);
  }
}

function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // a sandbox may forbid it
  }
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';

/** The name of the runs in `job_runs`. A run without an error has left a verified backup. */
export const BACKUP_JOB = 'backup';

/** When scheduled backups are due and how late they are, according to the rows of their runs: the same on every instance. */
@Injectable()
export class BackupTimes {
  private readonly times: NightlyTimes;
  private readonly upSince: Date;

  constructor(
    { backupCron }: Configuration,
    private readonly runs: JobRuns,
    private readonly clock: Clock,
  ) {
    this.times = new NightlyTimes(backupCron);
    this.upSince = clock.now();
  }

  /**
   * Due when no run has started since the last scheduled time, and once more when the last run ended with its process. Two such
   * ends in a row may be caused by the backup itself, which must not end the service again and again.
   */
  async isDue(): Promise<boolean> {
    const now = this.clock.now();
    const [last, before] = await this.runs.last(BACKUP_JOB, now, 2);
    if (!last || this.times.after(last.startedAt) <= now) return true;
    return last.endedAt === null && before?.endedAt !== null;
  }

  /** The start of the last run that left a verified backup; its data is not older. */
  lastVerified(): Promise<Date | undefined> {
    return this.runs.lastGood(BACKUP_JOB, this.clock.now());
  }

  /** How long the backup after the last verified one has been missing. */
  async overdueMs(): Promise<number> {
    const now = this.clock.now();
    const since = (await this.lastVerified()) ?? (await this.firstKept(now)) ?? this.upSince;
    return Math.max(0, now.getTime() - this.times.after(since).getTime());
  }

  private async firstKept(now: Date): Promise<Date | undefined> {
    return (await this.runs.last(BACKUP_JOB, now, KEPT_RUNS)).at(-1)?.startedAt;
  }
}

/** A service that was down at the scheduled time catches up after it has been up for this long. */
const CATCH_UP_AFTER_MS = 60_000;

/** Makes up for a backup that a backup by hand, the kill switch or the death of another instance has prevented. */
export const LOOK_AGAIN = 'look for a missed backup';
const LOOK_EVERY_MS = 30 * 60_000;

/**
 * Starts scheduled backups, each in a separate process with a low priority, so that neither its work nor a hanging disk slows
 * down requests. That process takes the lock, so only one of several instances makes the backup.
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

  /** Stops a running backup; the next start repeats it. */
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

/** Metrics of scheduled backups, without values where none are scheduled; every instance reports the same ones. */
@Injectable()
export class BackupMetrics {
  constructor({ backupDir }: Configuration, times: BackupTimes, metrics: Metrics) {
    const declare = (name: string, help: string, read: () => Promise<Reading[]>): void =>
      metrics.gauge(`cloud_sync_backup_${name}`, help, [], () =>
        backupDir === undefined ? Promise.resolve([]) : read(),
      );
    declare(
      'last_verified_timestamp_seconds',
      'Start of the last scheduled backup that was verified; absent while there is none',
      async () => {
        const verified = await times.lastVerified();
        return verified ? [{ value: verified.getTime() / 1000 }] : [];
      },
    );
    declare(
      'overdue_seconds',
      'How long the scheduled backup after the last verified one has been missing',
      async () => [{ value: (await times.overdueMs()) / 1000 }],
    );
  }
}
