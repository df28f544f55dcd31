import { SchedulerRegistry } from '@nestjs/schedule';
import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { verifyBackup } from '../../../src/operations/admin/verify-backup.js';
import { Database } from '../../../src/platform/database/index.js';
import { diskSpace } from '../../../src/platform/storage/index.js';
import type { Report } from '../../../src/operations/admin/with-service.js';
import {
  adminProgramFor,
  BackupSchedule,
  LOOK_AGAIN,
} from '../../../src/operations/backup/backup-schedule.js';
import { BlobFiles } from '../../../src/operations/backup/blob-files.js';
import { DirectoryParts } from '../../../src/operations/backup/backup-directory.js';
import { Backups, BackupTimes, onTrialDatabase } from '../../../src/operations/backup/index.js';
import { TrialCheck } from '../../../src/operations/backup/trial-database.js';
import { Doctor, type Finding } from '../../../src/platform/doctor.js';
import { type JobRun, JobRuns } from '../../../src/platform/jobs/index.js';
import { KillSwitch } from '../../../src/platform/kill-switch.js';
import { adminReport } from '../../kit/admin.js';
import { ROOT } from '../../kit/deployment.js';
import { Exposition } from '../../kit/exposition.js';
import {
  createDatabase,
  holdTable,
  startService,
  type TestService,
  type TestWorkspace,
} from '../../kit/index.js';
import { SmallDisk, whyNoDisk } from '../../kit/small-disk.js';
import { scrub } from '../../kit/oracles.js';
import { ADMIN, enterEnvironment, environment, type ProcessEnv } from '../../kit/process.js';
import { itDeep } from '../../kit/rounds.js';

const DAY = 24 * 60 * 60_000;
const SETTINGS = { INLINE_BLOB_BYTES: '1024', AUTH_SECRET: 'the same for whatever restores it' };
const FILES = 3;

let home: string;
let backups: string;
let env: ProcessEnv;
let leave: () => void;
let first: TestService;
let second: TestService;
let notes: TestWorkspace;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sync-scheduled-'));
  backups = join(home, 'backups');
  await mkdir(backups);
  const own = { ...SETTINGS, BACKUP_DIR: backups, BACKUP_KEEP: '2', METRICS_PORT: '0' };
  first = await startService({ env: own });
  second = await startService({ env: own, beside: first });
  env = { ...own, DATABASE_URL: first.database.url, DATA_DIR: first.dataDir, METRICS_PORT: '' };
  leave = enterEnvironment(env); // a backup runs in a process with the environment of the service
  notes = await (await first.user('alice')).workspace('notes');
  for (let file = 0; file < FILES; file++) await notes.put(`file-${file}`, randomBytes(3000)).expect(201);
});
afterAll(async () => {
  leave();
  await second.close();
  await first.close();
  await rm(home, { recursive: true, force: true });
});
beforeEach(async () => {
  await first.database.query('TRUNCATE job_runs');
  for (const name of await readdir(backups)) await rm(join(backups, name), { recursive: true });
});

/** The entries of BACKUP_DIR except its mark. */
const names = async (): Promise<string[]> =>
  (await readdir(backups)).filter((name) => name !== 'database-id');

const admin = (...args: string[]): Promise<Report> => adminReport(env, ...args);
const runs = (): Promise<JobRun[]> => first.app.get(JobRuns).recent(100);
const schedule = ({ app }: TestService): BackupSchedule => app.get(BackupSchedule);

/** Inserts the row of a run that began `agoMs` ago. */
const wrote = (agoMs: number, isOver: boolean, error: string | null = null): Promise<unknown> =>
  first.database.query(
    `INSERT INTO job_runs (name, started_at, ended_at, error) VALUES ('backup', $1, $2, $3)`,
    [new Date(Date.now() - agoMs), isOver ? new Date(Date.now() - agoMs) : null, error],
  );

/** Makes a scheduled backup with two instances while a blob in use has the hash of other bytes. @returns the blob's id */
async function runWithDamage(): Promise<string> {
  const [{ id, sha256 }] = (await first.database.query(
    `UPDATE blobs SET sha256 = reverse(sha256) WHERE id = (SELECT min(id::text)::uuid FROM blobs WHERE state = 'live')
     RETURNING id, reverse(sha256) AS sha256`,
  )) as [{ id: string; sha256: string }];
  try {
    await Promise.all([first, second].map((service) => schedule(service).runIfDue()));
  } finally {
    await first.database.query('UPDATE blobs SET sha256 = $2 WHERE id = $1', [id, sha256]);
  }
  return id;
}

/** Creates an empty directory with the name of a backup of that time. */
const planted = (time: string): Promise<void> => mkdir(join(backups, `scheduled-${time}`));

async function restored(backup: string): Promise<void> {
  const database = await createDatabase();
  const dataDir = await mkdtemp(join(home, 'data-'));
  await adminReport({ ...env, DATABASE_URL: database.url, DATA_DIR: dataDir }, 'backup', 'restore', backup);
  expect(await scrub(database, dataDir)).toBe(FILES);
  await database.drop();
}

describe('a scheduled backup', () => {
  itDeep('is made once by two instances, is verified, listed and reported, and can be restored', async () => {
    const before = await Exposition.of(first);
    expect(before.text).not.toMatch(/^cloud_sync_backup_last_verified_timestamp_seconds /m);
    await Promise.all([first, second, first, second].map((service) => schedule(service).runIfDue()));
    const rows = await runs();
    expect(rows.length).toBe(1);
    expect(rows).toEqual([
      expect.objectContaining({ name: 'backup', error: null, endedAt: expect.any(Date) as Date }),
    ]);
    expect(rows[0]!.counts).toMatchObject({ blobs: FILES, blobBytes: 3 * 3000, kept: 1, removed: 0 });
    const found = await names();
    expect(found).toEqual([expect.stringMatching(/^scheduled-\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z$/)]);
    expect((await stat(join(backups, found[0]!))).mode & 0o077).toBe(0);

    for (const service of [first, second]) {
      const { text } = await Exposition.of(service);
      const verified = /^cloud_sync_backup_last_verified_timestamp_seconds (\S+)$/m.exec(text)?.[1];
      expect(Number(verified)).toBeCloseTo(rows[0]!.startedAt.getTime() / 1000, 2);
      expect(text).toMatch(/^cloud_sync_backup_overdue_seconds 0$/m);
    }
    const listed = await admin('backup', 'list');
    expect(listed['backups']).toEqual([
      expect.objectContaining({ name: found[0], state: 'verified', blobs: { count: FILES, bytes: 9000 } }),
    ]);
    expect(listed.text).toMatch(/^scheduled-\S+ {2}verified {2}\S+Z {2}1 accounts, 1 workspaces, 3 versions/);
    await restored(join(backups, found[0]!));

    await schedule(second).runIfDue();
    expect(await runs()).toHaveLength(1);
  });

  itDeep('is kept BACKUP_KEEP times: the oldest are removed, but no entries of the operator', async () => {
    for (const time of ['2026-01-01T040000.000Z', '2026-01-02T040000.000Z', '2926-01-01T040000.000Z'])
      await planted(time);
    await mkdir(join(backups, 'unverified-by me'));
    await mkdir(join(backups, 'partial-copy'));
    await admin('backup', 'run');
    expect((await runs())[0]!.counts).toMatchObject({ removed: 2 });
    expect((await names()).sort()).toEqual([
      'partial-copy',
      'scheduled-2026-01-02T040000.000Z', // the one of a wrong clock, in the future, counts as the oldest
      expect.stringMatching(/^scheduled-/),
      'unverified-by me',
    ]);
  });

  it('that fails its verification removes no verified one, and replaces the last failed one', async () => {
    for (const time of ['2026-01-01T040000.000Z', '2026-01-02T040000.000Z', '2026-01-03T040000.000Z'])
      await planted(time);
    await mkdir(join(backups, 'unverified-2026-01-04T040000.000Z'));
    await runWithDamage();
    const found = (await names()).sort();
    expect(found).toEqual([
      'scheduled-2026-01-01T040000.000Z',
      'scheduled-2026-01-02T040000.000Z',
      'scheduled-2026-01-03T040000.000Z',
      expect.stringMatching(/^unverified-/),
    ]);
    expect(found[3]).not.toBe('unverified-2026-01-04T040000.000Z');
    expect(await runs()).toHaveLength(1);
    expect((await runs())[0]!.error).toMatch(`The backup is kept as ${found[3]}: The backup has 1 faults`);
    expect(first.logged() + second.logged()).toContain('the scheduled backup failed');
    const { text } = await Exposition.of(second);
    expect(text).toMatch(/^cloud_sync_job_last_success\{name="backup"\} 0$/m);
    expect(text).not.toMatch(/^cloud_sync_backup_last_verified_timestamp_seconds /m);
  });
});

describe('a backup of a service with unswept blobs and wrong counters', () => {
  const dying = randomUUID();
  const DRIFT = [
    'UPDATE workspaces SET document_bytes = document_bytes + $1',
    'UPDATE storage_accounts SET used_bytes = used_bytes + $1',
  ];
  beforeEach(async () => {
    await first.database.query(
      `INSERT INTO blobs (workspace_id, id, state, location, size, sha256, created_at, not_before)
       VALUES ($1, $2, 'dying', 'disk', 3000, repeat('0', 64), $3, $3)`,
      [notes.id, dying, new Date(Date.now() - 2 * DAY)],
    );
    await first.database.query(
      'INSERT INTO storage_accounts (user_id, used_bytes) SELECT user_id, 0 FROM workspaces ON CONFLICT DO NOTHING',
    );
    for (const sql of DRIFT) await first.database.query(sql, [7]);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    for (const sql of DRIFT) await first.database.query(sql, [-7]);
    await first.database.query('DELETE FROM blobs WHERE id = $1', [dying]);
  });

  const NOTES = ['not swept', 'quota drift', 'usage drift'];
  const kindsOf = (findings: unknown): string[] => (findings as Finding[]).map(({ fault }) => fault).sort();
  const verifyNewest = async (): Promise<Report> =>
    admin('backup', 'verify', join(backups, (await names()).sort().at(-1) ?? ''));

  itDeep('is verified as intact, with notes', async () => {
    await schedule(first).runIfDue();
    expect(await names()).toEqual([expect.stringMatching(/^scheduled-/)]);
    expect(await runs()).toEqual([expect.objectContaining({ error: null })]);
    const { text, exitCode, isWhole, findings, notes: noted } = await verifyNewest();
    expect({ exitCode, isWhole, findings }).toEqual({ exitCode: undefined, isWhole: true, findings: [] });
    expect(kindsOf(noted)).toEqual(NOTES);
    expect(text).toMatch(/^The backup is intact: .*\n(?:note: .*\n?){3}$/);
    expect(text).toContain('\nnote: blobs past their grace: 1 have been waiting for the sweeper too long.');
  });

  itDeep('is faulty when a blob is damaged', async () => {
    const id = await runWithDamage();
    expect((await runs())[0]!.error).toMatch(
      new RegExp(
        `: The backup has 1 faults: [^;]*; ${notes.id}/${id}: It has no bytes in the disk store\\.$`,
      ),
    );
    const { exitCode, isWhole, findings, notes: noted } = await verifyNewest();
    expect({ exitCode, isWhole }).toEqual({ exitCode: 1, isWhole: false });
    expect([kindsOf(findings), kindsOf(noted)]).toEqual([['bytes missing or damaged'], NOTES]);
  });

  itDeep('is faulty when the doctor reports an unknown fault', async () => {
    const unknown = {
      fault: 'something new',
      subject: 'it',
      problem: 'Is new.',
      cure: 'None.',
      isFixed: false,
    };
    await admin('backup', 'run');
    jest.spyOn(Doctor.prototype, 'examine').mockImplementation(async function* () {
      yield await Promise.resolve(unknown);
    });
    expect(await verifyNewest()).toMatchObject({
      exitCode: 1,
      isWhole: false,
      findings: [unknown],
      notes: [],
    });
  });
});

describe('an interrupted scheduled backup', () => {
  /** Other statements of the services wait for a held table too. */
  const backupsWait = (count: number): Promise<void> =>
    first.database.eventually(
      `SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '%backup' AND wait_event_type = 'Lock'
         AND datname = current_database() HAVING count(*) = ${count}`,
    );

  /** Kills a backup that has begun its draft and waits for a held table. */
  async function killedHalfWay(): Promise<void> {
    const held = await holdTable(first.database, 'versions');
    const child = spawn(process.execPath, [ADMIN, 'backup', 'run'], { env: environment(env) });
    const ended = once(child, 'exit');
    await backupsWait(1);
    child.kill('SIGKILL');
    await ended;
    await held.release();
  }

  itDeep('leaves nothing that looks complete, keeps the old ones, and is repeated once', async () => {
    for (const time of ['2026-01-01T040000.000Z', '2026-01-02T040000.000Z']) await planted(time);
    await killedHalfWay();
    const [draft = '', ...rest] = (await names()).sort();
    expect(rest).toEqual([
      expect.stringMatching(/^partial-trial-/),
      'scheduled-2026-01-01T040000.000Z',
      'scheduled-2026-01-02T040000.000Z',
    ]);
    await expect(admin('backup', 'restore', join(backups, draft))).rejects.toThrow(
      'does not contain a complete backup',
    );
    expect((await admin('backup', 'list'))['backups']).toContainEqual({ name: draft, state: 'partial' });

    await first.database.eventually(
      `SELECT WHERE NOT EXISTS (SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
                                WHERE locktype = 'advisory' AND objid = 3030222707 AND datname = current_database())`,
    );
    await schedule(second).runIfDue();
    const [again, killed] = await runs();
    expect(killed).toMatchObject({ endedAt: null, error: 'its process ended before it did' });
    expect(again).toMatchObject({ error: null, counts: { kept: 1, removed: 1 } });
    expect((await names()).sort()).toEqual([
      'scheduled-2026-01-02T040000.000Z',
      expect.stringMatching(/^scheduled-/),
    ]);
  });

  itDeep('that has lost its lock makes no backup, and the run that took the lock makes one', async () => {
    const held = await holdTable(first.database, 'versions');
    const child = spawn(process.execPath, [ADMIN, 'backup', 'run'], { env: environment(env) });
    const ended = once(child, 'exit');
    await backupsWait(1);
    await first.database.query(
      `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
       WHERE l.locktype = 'advisory' AND l.objid = 3030222707 AND d.datname = current_database()`,
    );
    const again = admin('backup', 'run');
    await backupsWait(2);
    await held.release();
    await again;
    expect(await ended).toEqual([1, null]);
    expect(await names()).toEqual([expect.stringMatching(/^scheduled-/)]);
    const [second, lost] = await runs();
    expect(second!.error).toBeNull();
    expect(lost!.error).not.toBeNull();
  });

  itDeep('leaves nothing of a draft that another run has removed', async () => {
    const draft = join(backups, 'partial-2026-01-01T040000.000Z');
    await first.app.get(Backups).create(draft);
    await rm(join(draft, 'blobs'), { recursive: true }); // its list is still being read
    await expect(first.app.get(BlobFiles).export(new DirectoryParts(draft))).rejects.toThrow('ENOENT');
    expect(await readdir(draft)).not.toContain('blobs');
  });

  itDeep('does not prevent a shutdown, and is due again afterwards', async () => {
    const third = await startService({ env: { ...SETTINGS, BACKUP_DIR: backups }, beside: first });
    const held = await holdTable(first.database, 'versions');
    const made = schedule(third).runIfDue();
    await backupsWait(1);
    await third.close();
    await made;
    await held.release();
    expect(third.logged()).toContain('the scheduled backup was stopped before its end');
    expect(await runs()).toEqual([expect.objectContaining({ endedAt: null })]);
    expect(await names()).not.toContainEqual(expect.stringMatching(/^(?:scheduled|unverified)/));
    expect(await second.app.get(BackupTimes).isDue()).toBe(true);
  });

  itDeep('leaves an old backup whose removal failed under the name of a partial one', async () => {
    const old = '2026-01-01T040000.000Z';
    await planted(old);
    await mkdir(join(backups, `scheduled-${old}`, 'manifest.json')); // the removal fails here, after one step
    await planted('2026-01-02T040000.000Z');
    await admin('backup', 'run');
    expect((await runs())[0]).toMatchObject({ error: null, counts: { removed: 0 } });
    expect(await names()).toContain(`partial-scheduled-${old}`);
    expect(await names()).not.toContain(`scheduled-${old}`);
    expect((await admin('backup', 'list'))['backups']).toContainEqual({
      name: `partial-scheduled-${old}`,
      state: 'partial',
    });
  });
});

describe('a scheduled backup is due', () => {
  const isDue = (): Promise<boolean> => second.app.get(BackupTimes).isDue();

  itDeep('when there was none, after the scheduled time, and not before', async () => {
    expect(await isDue()).toBe(true);
    await wrote(0, true);
    expect(await isDue()).toBe(false);
    await wrote(DAY + 1, true); // recorded later, by a clock that was behind
    expect(await isDue()).toBe(true);
  });

  itDeep('not again after a failure', async () => {
    await wrote(0, true, 'no space');
    expect(await isDue()).toBe(false);
  });

  itDeep('again after its process was killed, but not after two in a row', async () => {
    await wrote(1, false);
    expect(await isDue()).toBe(true);
    await wrote(0, false);
    expect(await isDue()).toBe(false);
  });

  itDeep('although an earlier run was recorded by a clock a year ahead', async () => {
    await wrote(-365 * DAY, true);
    expect(await isDue()).toBe(true);
    expect(await second.app.get(BackupTimes).lastVerified()).toBeUndefined();
  });

  itDeep('and counts as overdue from the next scheduled time on, however often it fails', async () => {
    await wrote(10 * DAY, true);
    await wrote(3 * DAY, true);
    await wrote(2 * DAY, true, 'no space');
    await wrote(DAY, false, 'its process ended before it did');
    const overdue = await second.app.get(BackupTimes).overdueMs();
    expect(overdue).toBeGreaterThanOrEqual(2 * DAY);
    expect(overdue).toBeLessThanOrEqual(3 * DAY);
  });

  itDeep('and counts as overdue since the last verified one, even after 120 failures', async () => {
    await wrote(10 * DAY, true);
    for (let run = 120; run > 0; run--) await wrote(run * 60_000, true, 'no space');
    await expect(
      adminReport({ ...env, BACKUP_DIR: join(home, 'not-mounted') }, 'backup', 'run'),
    ).rejects.toThrow();
    expect(await runs()).toHaveLength(100);
    const times = second.app.get(BackupTimes);
    expect(Date.now() - (await times.lastVerified())!.getTime()).toBeGreaterThanOrEqual(10 * DAY);
    expect(await times.overdueMs()).toBeGreaterThanOrEqual(9 * DAY);
  });

  itDeep('again after a run by hand that has prevented it, which is checked at intervals', async () => {
    const held = await holdTable(first.database, 'versions');
    const byHand = admin('backup', 'run');
    await first.database.eventually('SELECT FROM job_runs');
    await held.waiting(1);
    await first.database.query('UPDATE job_runs SET started_at = $1', [new Date(Date.now() - DAY)]);
    await schedule(second).runIfDue();
    expect(await runs()).toHaveLength(1);
    await held.release();
    await byHand;
    const third = await startService({ env: { ...SETTINGS, BACKUP_DIR: backups }, beside: first });
    expect(third.app.get(SchedulerRegistry, { strict: false }).getIntervals()).toContain(LOOK_AGAIN);
    await third.app.get(BackupSchedule).lookAgain();
    expect(await runs()).toHaveLength(2);
    await third.close();
  });

  itDeep('but not made while the kill switch is on', async () => {
    const killSwitch = second.app.get(KillSwitch);
    await killSwitch.set('read-only');
    await killSwitch.look();
    await schedule(second).runIfDue();
    await killSwitch.set('off');
    for (const { app } of [first, second]) await app.get(KillSwitch).look(); // the other one may look first
    expect(await runs()).toEqual([]);
    expect(second.logged()).toContain('the scheduled backup waits for the kill switch');
  });
});

describe('a directory that cannot be written', () => {
  itDeep('fails the run in one sentence, and the service keeps running', async () => {
    const file = join(home, 'a-file');
    await writeFile(file, '');
    for (const [path, code] of [
      [file, 'ENOTDIR'],
      [join(home, 'not-mounted'), 'ENOENT'],
    ] as const) {
      const back = enterEnvironment({ ...env, BACKUP_DIR: path });
      await first.database.query('TRUNCATE job_runs');
      await schedule(first).runIfDue();
      back();
      const sentence = `BACKUP_DIR ${path} cannot be used (${code}); it must be a directory that the service can write.`;
      expect((await runs())[0]!.error).toBe(`OperatorError: ${sentence}`);
      expect(first.logged()).toContain(sentence);
    }
    await notes.put('after', 'content').expect(201);
    await notes.delete('after').expect(200);
  });

  const reason = whyNoDisk();
  (reason ? it.skip : itDeep)('because its disk is full keeps only earlier backups', async () => {
    const disk = SmallDisk.mount(16);
    try {
      const full = { ...env, BACKUP_DIR: disk.path };
      await mkdir(join(disk.path, 'scheduled-2026-01-01T040000.000Z'));
      await writeFile(join(disk.path, 'something'), Buffer.alloc((await disk.free()) - 4096));
      await expect(adminReport(full, 'backup', 'run')).rejects.toThrow(
        /cannot be written to .* \(ENOSPC\); what was written of it is removed\.$/,
      );
      expect((await readdir(disk.path)).sort()).toEqual([
        'database-id',
        'scheduled-2026-01-01T040000.000Z',
        'something',
      ]);
      expect((await runs())[0]!.error).toContain('ENOSPC');
    } finally {
      disk.unmount();
    }
  });

  itDeep('because it shares a disk with DATA_DIR that uploads need gets no backup', async () => {
    const { total } = await diskSpace(backups);
    const tight = { ...env, MIN_FREE_BYTES: String(total) };
    await expect(adminReport(tight, 'backup', 'run')).rejects.toThrow('too full for a backup');
    expect(await names()).toEqual([]);
  });
});

itDeep('the build has the backup program, bundled and unbundled', () => {
  const from = (file: string): string => adminProgramFor(pathToFileURL(join(ROOT, file)).href);
  expect(from('dist/service/main.js')).toBe(join(ROOT, ADMIN)); // the parts of the bundle lie side by side
  expect(from('dist/src/operations/backup/backup-schedule.js')).toBe(
    join(ROOT, 'dist/src/operations/admin/main.js'),
  );
});

itDeep('without BACKUP_DIR there is no schedule, and the commands say so', async () => {
  const without = { ...env, BACKUP_DIR: '' };
  for (const command of ['run', 'list'])
    await expect(adminReport(without, 'backup', command)).rejects.toThrow(
      'Scheduled backups are off: set BACKUP_DIR',
    );
  const third = await startService({ env: SETTINGS, beside: first });
  await schedule(third).runIfDue();
  expect(await runs()).toEqual([]);
  await third.close();
});

describe('without the embedded PostgreSQL', () => {
  itDeep('the trial database has the encoding and the locale of the service’s database', async () => {
    const PLACE =
      'SELECT pg_encoding_to_char(encoding) AS encoding, datcollate, datctype FROM pg_database WHERE datname =';
    const [usual] = await first.database.query<{ datctype: string }>(`${PLACE} 'template0'`);
    const other = usual!.datctype === 'C' ? 'C.UTF-8' : 'C';
    const name = `other_${randomBytes(6).toString('hex')}`;
    const url = first.database.url.replace(first.database.name, name);
    await first.database.query(
      `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE '${other}' LC_CTYPE '${other}'`,
    );
    const target = { dedicatedClient: () => new Client(url) } as unknown as Database;
    const seen = await onTrialDatabase(target, url, (trialUrl) =>
      first.database.query(`${PLACE} $1`, [/verify_\w+/.exec(trialUrl)?.[0]]),
    );
    expect(seen).toEqual([{ encoding: 'UTF8', datcollate: other, datctype: other }]);
    await first.database.query(`DROP DATABASE ${name}`);
  });

  itDeep(
    'the trial uses a database on the server of the service, and removes it after a failure',
    async () => {
      const database = first.app.get(Database);
      const listed = (): Promise<unknown[]> =>
        first.database.query(`SELECT datname FROM pg_database WHERE datname ~ '^verify_[0-9a-f]{16}$'`);
      await admin('backup', 'run');
      const [name = ''] = await names();
      const before = await listed();
      await expect(
        onTrialDatabase(database, first.database.url, async (trialUrl) => {
          const { exitCode, text } = await verifyBackup(join(backups, name), { trialUrl });
          expect([exitCode, text]).toEqual([undefined, expect.stringMatching(/^The backup is intact: /)]);
          throw new Error('killed');
        }),
      ).rejects.toThrow('killed');
      expect(await listed()).toEqual(before);
    },
  );

  itDeep('a role without CREATEDB is reported by the doctor and by the backup', async () => {
    const database = await createDatabase({ isEmpty: true });
    const role = `limited_${database.name}`;
    await database.query(`CREATE ROLE ${role}`);
    await database.query(`ALTER DATABASE ${database.name} OWNER TO ${role}`);
    await database.query(`ALTER DATABASE ${database.name} SET role TO ${role}`);
    const limited = await startService({
      env: { ...SETTINGS, BACKUP_DIR: backups, DATABASE_URL: database.url },
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

    await first.database.query(`ALTER ROLE ${role} CREATEDB`);
    expect(await findings()).toEqual([]);
    await limited.close();
    await database.drop();
    await first.database.query(`DROP ROLE ${role}`);
  });
});
