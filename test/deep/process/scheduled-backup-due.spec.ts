import { SchedulerRegistry } from '@nestjs/schedule';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { verifyBackup } from '../../../src/operations/admin/verify-backup.js';
import { Database } from '../../../src/platform/database/index.js';
import {
  adminProgramFor,
  BackupSchedule,
  LOOK_AGAIN,
} from '../../../src/operations/backup/backup-schedule.js';
import { BackupTimes, onTrialDatabase } from '../../../src/operations/backup/index.js';
import { TrialCheck } from '../../../src/operations/backup/trial-database.js';
import type { Finding } from '../../../src/platform/doctor.js';
import { KillSwitch } from '../../../src/platform/kill-switch.js';
import { adminReport } from '../../kit/admin.js';
import { ROOT } from '../../kit/deployment.js';
import { createDatabase, holdTable, startService } from '../../kit/index.js';
import { ADMIN } from '../../kit/process.js';
import { DAY, SETTINGS, schedule, useScheduledBackups } from '../../kit/scheduled-backups.js';

const scheduled = useScheduledBackups();

/** Inserts the row of a run that began `agoMs` ago. */
const wrote = (agoMs: number, isOver: boolean, error: string | null = null): Promise<unknown> =>
  scheduled.first.database.query(
    `INSERT INTO job_runs (name, started_at, ended_at, error) VALUES ('backup', $1, $2, $3)`,
    [new Date(Date.now() - agoMs), isOver ? new Date(Date.now() - agoMs) : null, error],
  );

describe('a scheduled backup is due', () => {
  const isDue = (): Promise<boolean> => scheduled.second.app.get(BackupTimes).isDue();

  it('when there was none, after the scheduled time, and not before', async () => {
    expect(await isDue()).toBe(true);
    await wrote(0, true);
    expect(await isDue()).toBe(false);
    await wrote(DAY + 1, true); // recorded later, by a clock that was behind
    expect(await isDue()).toBe(true);
  });

  it('not again after a failure', async () => {
    await wrote(0, true, 'no space');
    expect(await isDue()).toBe(false);
  });

  it('again after its process was killed, but not after two in a row', async () => {
    await wrote(1, false);
    expect(await isDue()).toBe(true);
    await wrote(0, false);
    expect(await isDue()).toBe(false);
  });

  it('although an earlier run was recorded by a clock a year ahead', async () => {
    await wrote(-365 * DAY, true);
    expect(await isDue()).toBe(true);
    expect(await scheduled.second.app.get(BackupTimes).lastVerified()).toBeUndefined();
  });

  it('and counts as overdue from the next scheduled time on, however often it fails', async () => {
    await wrote(10 * DAY, true);
    await wrote(3 * DAY, true);
    await wrote(2 * DAY, true, 'no space');
    await wrote(DAY, false, 'its process ended before it did');
    const overdue = await scheduled.second.app.get(BackupTimes).overdueMs();
    expect(overdue).toBeGreaterThanOrEqual(2 * DAY);
    expect(overdue).toBeLessThanOrEqual(3 * DAY);
  });

  it('and counts as overdue since the last verified one, even after 120 failures', async () => {
    await wrote(10 * DAY, true);
    for (let run = 120; run > 0; run--) await wrote(run * 60_000, true, 'no space');
    await expect(
      adminReport({ ...scheduled.env, BACKUP_DIR: join(scheduled.home, 'not-mounted') }, 'backup', 'run'),
    ).rejects.toThrow();
    expect(await scheduled.runs()).toHaveLength(100);
    const times = scheduled.second.app.get(BackupTimes);
    expect(Date.now() - (await times.lastVerified())!.getTime()).toBeGreaterThanOrEqual(10 * DAY);
    expect(await times.overdueMs()).toBeGreaterThanOrEqual(9 * DAY);
  });

  it('again after a run by hand that has prevented it, which is checked at intervals', async () => {
    const held = await holdTable(scheduled.first.database, 'versions');
    const byHand = scheduled.admin('backup', 'run');
    await scheduled.first.database.eventually('SELECT FROM job_runs');
    await held.waiting(1);
    await scheduled.first.database.query('UPDATE job_runs SET started_at = $1', [new Date(Date.now() - DAY)]);
    await schedule(scheduled.second).runIfDue();
    expect(await scheduled.runs()).toHaveLength(1);
    await held.release();
    await byHand;
    const third = await startService({
      env: { ...SETTINGS, BACKUP_DIR: scheduled.backups },
      beside: scheduled.first,
    });
    expect(third.app.get(SchedulerRegistry, { strict: false }).getIntervals()).toContain(LOOK_AGAIN);
    await third.app.get(BackupSchedule).lookAgain();
    expect(await scheduled.runs()).toHaveLength(2);
    await third.close();
  });

  it('but not made while the kill switch is on', async () => {
    const killSwitch = scheduled.second.app.get(KillSwitch);
    await killSwitch.set('read-only');
    await killSwitch.look();
    await schedule(scheduled.second).runIfDue();
    await killSwitch.set('off');
    for (const { app } of [scheduled.first, scheduled.second]) await app.get(KillSwitch).look(); // the other one may look first
    expect(await scheduled.runs()).toEqual([]);
    expect(scheduled.second.logged()).toContain('the scheduled backup waits for the kill switch');
  });
});

it('the build has the backup program, bundled and unbundled', () => {
  const from = (file: string): string => adminProgramFor(pathToFileURL(join(ROOT, file)).href);
  expect(from('dist/service/main.js')).toBe(join(ROOT, ADMIN)); // the parts of the bundle lie side by side
  expect(from('dist/src/operations/backup/backup-schedule.js')).toBe(
    join(ROOT, 'dist/src/operations/admin/main.js'),
  );
});

it('without BACKUP_DIR there is no schedule, and the commands say so', async () => {
  const without = { ...scheduled.env, BACKUP_DIR: '' };
  for (const command of ['run', 'list'])
    await expect(adminReport(without, 'backup', command)).rejects.toThrow(
      'Scheduled backups are off: set BACKUP_DIR',
    );
  const third = await startService({ env: SETTINGS, beside: scheduled.first });
  await schedule(third).runIfDue();
  expect(await scheduled.runs()).toEqual([]);
  await third.close();
});

describe('without the embedded PostgreSQL', () => {
  it('the trial database has the encoding and the locale of the service’s database', async () => {
    const PLACE =
      'SELECT pg_encoding_to_char(encoding) AS encoding, datcollate, datctype FROM pg_database WHERE datname =';
    const [usual] = await scheduled.first.database.query<{ datctype: string }>(`${PLACE} 'template0'`);
    const other = usual!.datctype === 'C' ? 'C.UTF-8' : 'C';
    const name = `other_${randomBytes(6).toString('hex')}`;
    const url = scheduled.first.database.url.replace(scheduled.first.database.name, name);
    await scheduled.first.database.query(
      `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE '${other}' LC_CTYPE '${other}'`,
    );
    const target = { dedicatedClient: () => new Client(url) } as unknown as Database;
    const seen = await onTrialDatabase(target, url, (trialUrl) =>
      scheduled.first.database.query(`${PLACE} $1`, [/verify_\w+/.exec(trialUrl)?.[0]]),
    );
    expect(seen).toEqual([{ encoding: 'UTF8', datcollate: other, datctype: other }]);
    await scheduled.first.database.query(`DROP DATABASE ${name}`);
  });

  it('the trial uses a database on the server of the service, and removes it after a failure', async () => {
    const database = scheduled.first.app.get(Database);
    const listed = (): Promise<unknown[]> =>
      scheduled.first.database.query(
        `SELECT datname FROM pg_database WHERE datname ~ '^verify_[0-9a-f]{16}$'`,
      );
    await scheduled.admin('backup', 'run');
    const [name = ''] = await scheduled.names();
    const before = await listed();
    await expect(
      onTrialDatabase(database, scheduled.first.database.url, async (trialUrl) => {
        const { exitCode, text } = await verifyBackup(join(scheduled.backups, name), { trialUrl });
        expect([exitCode, text]).toEqual([undefined, expect.stringMatching(/^The backup is intact: /)]);
        throw new Error('killed');
      }),
    ).rejects.toThrow('killed');
    expect(await listed()).toEqual(before);
  });

  it('a role without CREATEDB is reported by the doctor and by the backup', async () => {
    const database = await createDatabase({ isEmpty: true });
    const role = `limited_${database.name}`;
    await database.query(`CREATE ROLE ${role}`);
    await database.query(`ALTER DATABASE ${database.name} OWNER TO ${role}`);
    await database.query(`ALTER DATABASE ${database.name} SET role TO ${role}`);
    const limited = await startService({
      env: { ...SETTINGS, BACKUP_DIR: scheduled.backups, DATABASE_URL: database.url },
    });
    const check = limited.app.get(TrialCheck);
    const findings = async (): Promise<Finding[]> => {
      const found: Finding[] = [];
      for await (const finding of check.privilege(false)) found.push(finding);
      return found;
    };
    expect(await findings()).toMatchObject([{ fault: 'backups unverified', subject: role, isFixed: false }]);
    await expect(
      onTrialDatabase(limited.app.get(Database), database.url, () => Promise.resolve()),
    ).rejects.toThrow('give it CREATEDB');

    await scheduled.first.database.query(`ALTER ROLE ${role} CREATEDB`);
    expect(await findings()).toEqual([]);
    await limited.close();
    await database.drop();
    await scheduled.first.database.query(`DROP ROLE ${role}`);
  });
});
