import { Injectable } from '@nestjs/common';
import { Configuration } from '../../platform/config/index.js';
import { Clock } from '../../platform/clock/index.js';
import { JobRuns, KEPT_RUNS, NightlyTimes } from '../../platform/jobs/index.js';

/** The name of the runs in `job_runs`. A run without an error has left a verified backup. */
export const BACKUP_JOB = 'backup';

/** When scheduled backups are due and how late they are, from the rows of their runs: the same on every instance. */
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
   * Due when none has started since the last scheduled time, and once more when the last run ended with its process. Two
   * such ends in a row may be the backup's own fault, which must not end the service again and again.
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

  /** For how long the backup after the last verified one has been missing. */
  async overdueMs(): Promise<number> {
    const now = this.clock.now();
    const since = (await this.lastVerified()) ?? (await this.firstKept(now)) ?? this.upSince;
    return Math.max(0, now.getTime() - this.times.after(since).getTime());
  }

  private async firstKept(now: Date): Promise<Date | undefined> {
    return (await this.runs.last(BACKUP_JOB, now, KEPT_RUNS)).at(-1)?.startedAt;
  }
}
