import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Report } from '../../src/operations/admin/with-service.js';
import { BackupSchedule } from '../../src/operations/backup/backup-schedule.js';
import { type JobRun, JobRuns } from '../../src/platform/jobs/index.js';
import { adminReport } from './admin.js';
import { startService, type TestService, type TestWorkspace } from './index.js';
import { enterEnvironment, type ProcessEnv } from './process.js';
import { useInTests } from './use-in-tests.js';

export const DAY = 24 * 60 * 60_000;
export const SETTINGS = { INLINE_BLOB_BYTES: '1024', AUTH_SECRET: 'the same for whatever restores it' };
export const FILES = 3;
export const schedule = ({ app }: TestService): BackupSchedule => app.get(BackupSchedule);

/** Call outside of all tests. Two services on one database with scheduled backups. */
export function useScheduledBackups(): ScheduledBackups {
  return useInTests(new ScheduledBackups());
}

export class ScheduledBackups {
  home!: string;
  backups!: string;
  env!: ProcessEnv;
  leave!: () => void;
  first!: TestService;
  second!: TestService;
  notes!: TestWorkspace;

  readonly open = async () => {
    this.home = await mkdtemp(join(tmpdir(), 'sync-scheduled-'));
    this.backups = join(this.home, 'backups');
    await mkdir(this.backups);
    const own = { ...SETTINGS, BACKUP_DIR: this.backups, BACKUP_KEEP: '2', METRICS_PORT: '0' };
    this.first = await startService({ env: own });
    this.second = await startService({ env: own, beside: this.first });
    this.env = {
      ...own,
      DATABASE_URL: this.first.database.url,
      DATA_DIR: this.first.dataDir,
      METRICS_PORT: '',
    };
    this.leave = enterEnvironment(this.env); // a backup runs in a process with the environment of the service
    this.notes = await (await this.first.user('alice')).workspace('notes');
    for (let file = 0; file < FILES; file++)
      await this.notes.put(`file-${file}`, randomBytes(3000)).expect(201);
  };

  readonly close = async () => {
    this.leave();
    await this.second.close();
    await this.first.close();
    await rm(this.home, { recursive: true, force: true });
  };

  readonly beginTest = async () => {
    await this.first.database.query('TRUNCATE job_runs');
    for (const name of await readdir(this.backups)) await rm(join(this.backups, name), { recursive: true });
  };

  /** The entries of BACKUP_DIR except its mark. */
  readonly names = async (): Promise<string[]> =>
    (await readdir(this.backups)).filter((name) => name !== 'database-id');

  readonly admin = (...args: string[]): Promise<Report> => adminReport(this.env, ...args);

  readonly runs = (): Promise<JobRun[]> => this.first.app.get(JobRuns).recent(100);

  /** Creates an empty directory with the name of a backup of that time. */
  readonly planted = (time: string): Promise<void> => mkdir(join(this.backups, `scheduled-${time}`));
}
