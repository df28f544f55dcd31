import { randomBytes, randomUUID } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Report } from '../../../src/operations/admin/with-service.js';
import { BackupBucket } from '../../../src/operations/backup/backup-bucket.js';
import { BackupSchedule } from '../../../src/operations/backup/backup-schedule.js';
import { bytesOf } from '../../../src/operations/backup/backup-parts.js';
import { DatabaseIdentity } from '../../../src/operations/backup/database-identity.js';
import { DirectoryMark } from '../../../src/operations/backup/backup-places.js';
import { BackupDirectory, BackupPlaces } from '../../../src/operations/backup/index.js';
import { SETTLING } from '../../../src/operations/backup/place-mark.js';
import { OperatorError } from '../../../src/platform/config/index.js';
import { JobRuns } from '../../../src/platform/jobs/index.js';
import { S3Fault } from '../../../src/platform/storage/s3/s3-fault.js';
import { S3Objects } from '../../../src/platform/storage/s3/s3-objects.js';
import { adminReport } from '../../kit/admin.js';
import { Exposition } from '../../kit/exposition.js';
import { createDatabase, holdTable, startService, type TestService } from '../../kit/index.js';
import { enterEnvironment, type ProcessEnv } from '../../kit/process.js';
import { describeWithTestServers, startS3, type TestS3 } from '../../kit/s3.js';
import { itDeep, rounds } from '../../kit/rounds.js';

const SETTINGS = { INLINE_BLOB_BYTES: '1024', AUTH_SECRET: 'the same for whatever restores it' };
const PARTIAL = 'partial-2026-01-01T040000.000Z';

const noop = (): void => undefined;

let home: string;
let ours: TestService;
let theirs: TestService;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sync-places-'));
  const env = { ...SETTINGS, BACKUP_DIR: join(home, 'unused'), METRICS_PORT: '0' };
  ours = await startService({ env });
  theirs = await startService({ env });
  for (const service of [ours, theirs]) {
    const notes = await (await service.user('alice')).workspace('notes');
    await notes.put('file', randomBytes(3000)).expect(201);
  }
});
afterAll(async () => {
  await ours.close();
  await theirs.close();
  await rm(home, { recursive: true });
});
beforeEach(async () => {
  for (const { database } of [ours, theirs]) await database.query('TRUNCATE job_runs');
});

/** The settings of a service with backups in a place, equal except database and DATA_DIR. */
const envOf = ({ database, dataDir }: TestService, place: string): ProcessEnv => ({
  ...SETTINGS,
  BACKUP_DIR: place,
  BACKUP_KEEP: '1',
  DATABASE_URL: database.url,
  DATA_DIR: dataDir,
});

const newPlace = (): Promise<string> => mkdtemp(join(home, 'backups-'));

const refusalOf = (place: string): string =>
  `${place} belongs to another database; use a place of its own for this one, or \`backup run --adopt\` if that database is lost or no longer used.`;

/** Marks a place as a run does at its beginning. */
const claim = ({ app }: TestService, place: string, adopt = false): Promise<string> =>
  app.get(BackupPlaces).claim(new BackupDirectory(place), adopt);

/** All names below a directory, and the content of the mark. */
async function everythingIn(place: string): Promise<string[]> {
  const names = await readdir(place, { recursive: true });
  return [...names.sort(), await readFile(join(place, 'database-id'), 'utf8').catch(() => 'no mark')];
}

const scheduledIn = async (place: string): Promise<string[]> =>
  (await readdir(place)).filter((name) => name.startsWith('scheduled-')).sort();

/** Turns a backup into one of an earlier version. @returns the database id that it had */
async function asEarlier(place: string, name: string): Promise<string | undefined> {
  const path = join(place, name, 'manifest.json');
  const { database, ...manifest } = JSON.parse(await readFile(path, 'utf8')) as { database?: string };
  await writeFile(path, JSON.stringify(manifest));
  return database;
}

/** Restores a backup into a new database. @returns the settings of the original with that database */
async function drillFrom(backup: string, original: ProcessEnv): Promise<ProcessEnv> {
  const database = await createDatabase();
  const env = { ...original, DATABASE_URL: database.url, DATA_DIR: await mkdtemp(join(home, 'data-')) };
  await adminReport(env, 'backup', 'restore', backup);
  return env;
}

describe('a backup place', () => {
  itDeep('of one service is refused to another before anything changes, and its run fails', async () => {
    const place = await newPlace();
    const env = envOf(ours, place);
    await adminReport(env, 'backup', 'run');
    await mkdir(join(place, PARTIAL)); // a run of ours that is under way
    await mkdir(join(place, 'unverified-2026-01-01T040000.000Z'));
    const before = await everythingIn(place);

    const leave = enterEnvironment(envOf(theirs, place));
    await theirs.app.get(BackupSchedule).runIfDue();
    leave();
    expect(await everythingIn(place)).toEqual(before);
    expect(theirs.logged()).toContain(`"reason":"${refusalOf(place)}"`);
    expect(await theirs.app.get(JobRuns).recent(10)).toMatchObject([
      { name: 'backup', error: `OperatorError: ${refusalOf(place)}` },
    ]);
    expect((await Exposition.of(theirs)).text).toMatch(/^cloud_sync_job_last_success\{name="backup"\} 0$/m);

    expect(await adminReport(env, 'backup', 'run')).toMatchObject({ kept: 1, removed: 1 });
  });

  it('that is marked is refused to a run of another database, which changes nothing in it', async () => {
    const place = await newPlace();
    await claim(ours, place);
    for (const name of [PARTIAL, 'scheduled-2026-01-01T040000.000Z']) await mkdir(join(place, name));
    const before = await everythingIn(place);
    await expect(adminReport(envOf(theirs, place), 'backup', 'run')).rejects.toThrow(refusalOf(place));
    expect(await everythingIn(place)).toEqual(before);
  });

  itDeep('can be listed, verified and restored from by every service', async () => {
    const place = await newPlace();
    const env = envOf(theirs, place);
    await claim(ours, place);
    const backup = join(place, 'by-hand');
    await adminReport(envOf(ours, place), 'backup', 'create', backup);
    expect((await adminReport(env, 'backup', 'list'))['backups']).toMatchObject([
      { name: 'by-hand', state: 'by hand' },
    ]);
    expect(await adminReport(env, 'backup', 'verify', backup)).toMatchObject({ isWhole: true });
    const before = await everythingIn(place);
    await drillFrom(backup, env);
    expect(await everythingIn(place)).toEqual(before);
  });

  itDeep('can be taken over with --adopt, and is then refused to its former owner', async () => {
    const place = await newPlace();
    await claim(ours, place);
    const old = 'scheduled-2026-01-01T040000.000Z';
    await mkdir(join(place, old));
    expect(await adminReport(envOf(theirs, place), 'backup', 'run', '--adopt')).toMatchObject({ removed: 1 });
    expect(await readdir(place)).not.toContain(old);
    await expect(adminReport(envOf(ours, place), 'backup', 'run')).rejects.toThrow(refusalOf(place));
    await claim(theirs, place);
  });

  itDeep(
    'keeps and names the backups of its former owner after a takeover, without counting them',
    async () => {
      const place = await newPlace();
      await adminReport(envOf(ours, place), 'backup', 'run');
      const [lost = ''] = await scheduledIn(place);
      const unverified = 'unverified-2026-01-01T040000.000Z';
      await cp(join(place, lost), join(place, unverified), { recursive: true });
      const left = [lost, unverified];
      const run = (...more: string[]): Promise<Report> =>
        adminReport(envOf(theirs, place), 'backup', 'run', ...more);
      const first = await run('--adopt');
      expect(first).toMatchObject({ kept: 1, removed: 0 });
      expect([...(first['left'] as string[])].sort()).toEqual(left);
      expect(first.text).toMatch(/; 2 of another database are left, to be removed by hand: \S+, \S+$/);
      expect(await run()).toMatchObject({ kept: 1, removed: 1 });
      expect(await readdir(place)).toEqual(expect.arrayContaining(left));
      expect(await scheduledIn(place)).toHaveLength(2);
      for (const name of left) await rm(join(place, name), { recursive: true });
      expect(await run()).not.toHaveProperty('left');
    },
  );

  itDeep('of an earlier version keeps the backups of the lost database after a takeover', async () => {
    const place = await newPlace();
    const env = envOf(ours, place);
    await adminReport({ ...env, BACKUP_KEEP: '2' }, 'backup', 'run');
    await adminReport({ ...env, BACKUP_KEEP: '2' }, 'backup', 'run');
    const lost = await scheduledIn(place);
    expect(lost).toHaveLength(2);
    for (const name of lost) await asEarlier(place, name);
    const restored = await drillFrom(join(place, lost[1]!), env);
    for (const more of [['--adopt'], [], []]) await adminReport(restored, 'backup', 'run', ...more);
    const after = await scheduledIn(place);
    expect(after).toHaveLength(3);
    expect(after).toEqual(expect.arrayContaining(lost));
  });

  itDeep('that is taken over during a run keeps what the new owner has there', async () => {
    const place = await newPlace();
    const held = await holdTable(ours.database, 'versions');
    const running = adminReport(envOf(ours, place), 'backup', 'run');
    const refused = expect(running).rejects.toThrow(refusalOf(place));
    await held.waiting(1);
    await writeFile(join(place, 'database-id'), randomUUID());
    await mkdir(join(place, 'unverified-2026-01-01T040000.000Z'));
    const before = (await readdir(place)).filter((name) => !name.startsWith('partial-'));
    await held.release();
    await refused;
    expect(await readdir(place)).toEqual(before);
  });

  it('has one owner when two databases find it empty at the same time', async () => {
    for (let round = 0; round < rounds(3, 20); round++) {
      const place = await newPlace();
      const claims = [ours, theirs].map((service) => claim(service, place));
      const outcomes = await Promise.allSettled(claims);
      expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      const winners = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      expect(await readFile(join(place, 'database-id'), 'utf8')).toBe(`${winners.join()}\n`);
    }
  });

  itDeep(
    'with an incomplete mark belongs to the database of its backups, or else to the next one',
    async () => {
      const place = await newPlace();
      const mark = join(place, 'database-id');
      const wait = jest.spyOn(SETTLING, 'wait').mockResolvedValue();
      await adminReport(envOf(ours, place), 'backup', 'run');
      await writeFile(mark, '');
      await expect(claim(theirs, place)).rejects.toThrow(`${place} has a backup of another database`);
      expect(await readFile(mark, 'utf8')).toBe('');
      const id = await claim(ours, place);
      expect(await readFile(mark, 'utf8')).toBe(`${id}\n`);
      await expect(claim(theirs, place)).rejects.toThrow(refusalOf(place));

      for (const name of await scheduledIn(place)) await rm(join(place, name), { recursive: true });
      await writeFile(mark, '');
      wait.mockImplementationOnce(() => writeFile(mark, id)); // the process that had made it was at work
      await expect(claim(theirs, place)).rejects.toThrow(refusalOf(place));
      await writeFile(mark, '');
      await claim(theirs, place);
      wait.mockRestore();
    },
  );

  itDeep(
    'of another database is refused to a backup by hand in it, which marks no free directory',
    async () => {
      const place = await newPlace();
      const byHand = join(place, 'by-hand');
      expect(await adminReport(envOf(ours, place), 'backup', 'create', byHand)).toMatchObject({
        damaged: [],
      });
      expect(await readdir(place)).toEqual(['by-hand']);
      await claim(ours, place);
      const create = (...more: string[]): Promise<Report> =>
        adminReport(envOf(theirs, ''), 'backup', 'create', join(place, 'another'), ...more);
      const before = await everythingIn(place);
      await expect(create()).rejects.toThrow(refusalOf(place));
      expect(await everythingIn(place)).toEqual(before);
      expect(await create('--adopt')).toMatchObject({ damaged: [] });
      await expect(adminReport(envOf(ours, place), 'backup', 'run')).rejects.toThrow(refusalOf(place));
    },
  );
});

describe('a backup place that a backup by hand may not read', () => {
  itDeep.each(['EACCES', 'EPERM'])('counts as free (%s)', async (code) => {
    const place = await newPlace();
    await claim(ours, place);
    const cause = Object.assign(new Error(), { code });
    const read = jest
      .spyOn(DirectoryMark.prototype as unknown as { read(): Promise<string> }, 'read')
      .mockRejectedValue(new OperatorError('cannot be used', { cause }));
    for (const adopt of [false, true])
      await theirs.app.get(BackupPlaces).expectOwnAbove(join(place, 'by-hand'), adopt);
    read.mockRejectedValue(new OperatorError('cannot be used', { cause: new Error('EIO') }));
    const looked = theirs.app.get(BackupPlaces).expectOwnAbove(join(place, 'by-hand'), false);
    await expect(looked).rejects.toThrow('cannot be used');
    read.mockRestore();
    await claim(ours, place);
  });
});

describe('a copy restored from a backup, with the settings of the original', () => {
  itDeep('is refused the place of the original, whether that is marked or not', async () => {
    const place = await newPlace();
    const env = envOf(ours, place);
    await adminReport(env, 'backup', 'run');
    const [name = ''] = (await readdir(place)).filter((entry) => entry.startsWith('scheduled-'));
    const drill = await drillFrom(join(place, name), env);
    const run = (): Promise<Report> => adminReport(drill, 'backup', 'run');
    await expect(run()).rejects.toThrow(refusalOf(place));

    await rm(join(place, 'database-id'));
    const foreign = `${place} has a backup of another database (${name})`;
    await expect(run()).rejects.toThrow(`${foreign}; use a place of its own`);
    expect(await asEarlier(place, name)).toMatch(/^[0-9a-f-]{36}$/);
    const unclean = `${foreign}, or of a run of this one that was killed or failed after it; use a place of its own`;
    await expect(run()).rejects.toThrow(unclean);
    await expect(run()).rejects.toThrow(unclean);
    expect(await readdir(place)).toEqual([name]);
    await claim(ours, place);
    await expect(run()).rejects.toThrow(refusalOf(place));
  });
});

describe('a backup place that an earlier version has used without a mark', () => {
  itDeep(
    'is refused to a database that has never made a backup, and to one that has made others',
    async () => {
      const place = await newPlace();
      await adminReport(envOf(ours, place), 'backup', 'run');
      await rm(join(place, 'database-id'));
      const [name = ''] = await readdir(place);
      const manifest = join(place, name, 'manifest.json');
      const earlier = { ...(JSON.parse(await readFile(manifest, 'utf8')) as object), database: undefined };
      await writeFile(manifest, JSON.stringify(earlier));
      const isRefused = (): Promise<void> =>
        expect(adminReport(envOf(theirs, place), 'backup', 'run')).rejects.toThrow(
          `${place} has a backup of another database (${name})`,
        );
      await isRefused();
      await isRefused(); // the row of the first run does not count
      await theirs.database.query(
        `INSERT INTO job_runs (name, started_at, ended_at)
       SELECT 'backup', now() - interval '2 days' + n * interval '1 minute', now() - interval '2 days' + n * interval '1 minute'
       FROM generate_series(1, 3) n`,
      );
      await isRefused();
      expect(await readdir(place)).toEqual([name]);
      await claim(ours, place);
    },
  );

  itDeep('can be claimed by the database of its backups after a run that was killed', async () => {
    const place = await newPlace();
    const env = { ...envOf(ours, place), BACKUP_KEEP: '3' };
    await adminReport(env, 'backup', 'run');
    const [killed = ''] = await scheduledIn(place);
    await rm(join(place, 'database-id'));
    await asEarlier(place, killed);
    await ours.database.query(`UPDATE job_runs SET ended_at = NULL`);
    await expect(adminReport(env, 'backup', 'run')).rejects.toThrow(
      `(${killed}), or of a run of this one that was killed or failed after it`,
    );
    await claim(ours, place, true);
    await adminReport(env, 'backup', 'run');
    await rm(join(place, 'database-id'));
    for (const name of await scheduledIn(place)) await asEarlier(place, name); // run by an earlier version
    await expect(adminReport(envOf(theirs, place), 'backup', 'run')).rejects.toThrow('another database');
    expect(await adminReport({ ...env, BACKUP_KEEP: '1' }, 'backup', 'run')).toMatchObject({ removed: 2 });
  });

  itDeep('is claimed by the database of its backups, even if their runs are no longer recorded', async () => {
    const place = await newPlace();
    const at = new Date(Date.now() - 60_000);
    const name = `scheduled-${at.toISOString().replaceAll(':', '')}`;
    await adminReport(envOf(ours, ''), 'backup', 'create', join(place, name));
    const manifest = join(place, name, 'manifest.json');
    const earlier = { ...(JSON.parse(await readFile(manifest, 'utf8')) as object), database: undefined };
    await writeFile(manifest, JSON.stringify(earlier));
    await ours.database.query(
      `INSERT INTO job_runs (name, started_at, ended_at)
       SELECT 'backup', $1::timestamptz + n * interval '1 millisecond', $1::timestamptz + n * interval '2 milliseconds'
       FROM generate_series(1, 99) n`,
      [at],
    );
    await expect(claim(ours, place)).rejects.toThrow('has a backup of another database');
    await ours.database.query(`INSERT INTO job_runs (name, started_at) VALUES ('backup', now())`); // running
    await claim(ours, place);
  });
});

describeWithTestServers('a backup place in S3', () => {
  let s3: TestS3;
  let bucket: string;
  beforeAll(async () => {
    s3 = await startS3();
  });
  beforeEach(() => {
    bucket = s3.bucketName();
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const place = (): string => `s3://${bucket}/of/notes`;
  const s3Env = (service: TestService): ProcessEnv => ({
    ...envOf(service, place()),
    BACKUP_S3_ENDPOINT: s3.endpoint,
    BACKUP_S3_ACCESS_KEY: s3.accessKey,
    BACKUP_S3_SECRET_KEY: s3.secretKey,
  });
  function objects(): S3Objects {
    const { accessKey, secretKey, region, endpoint } = s3;
    return S3Objects.at(
      { isOwn: true, endpoint, accessKey, secretKey, region },
      { bucket, prefix: 'of/notes' },
    );
  }
  const target = (): BackupBucket => new BackupBucket(place(), objects(), home);
  const list = async (): Promise<unknown> =>
    (await target().list()).map(({ name, state }) => ({ name, state }));

  itDeep('of one service is refused to another before any removal, and taken over with --adopt', async () => {
    await ours.app.get(BackupPlaces).claim(target(), false);
    const old = 'scheduled-2026-01-02T040000.000Z';
    for (const part of ['begun', 'manifest.json', 'verified'])
      await objects().put(`${old}/${part}`, bytesOf('{}'));
    await objects().put(`${PARTIAL.replace('partial', 'scheduled')}/begun`, bytesOf(''), 0);
    const before = await list();
    expect(before).toHaveLength(2);
    await expect(adminReport(s3Env(theirs), 'backup', 'run')).rejects.toThrow(refusalOf(place()));
    await expect(adminReport(s3Env(theirs), 'backup', 'create', `${place()}/by-hand`)).rejects.toThrow(
      refusalOf(place()),
    );
    expect(await list()).toEqual(before);
    expect(await adminReport(s3Env(theirs), 'backup', 'run', '--adopt')).toMatchObject({ removed: 1 });
    await expect(adminReport(s3Env(ours), 'backup', 'run')).rejects.toThrow(refusalOf(place()));
  });

  itDeep('that a backup by hand may not read counts as free', async () => {
    await ours.app.get(BackupPlaces).claim(target(), false);
    const denied = new S3Fault(Object.assign(new Error(), { code: 'AccessDenied' }), {
      status: 403,
      wasSent: true,
    });
    const asked = jest
      .spyOn(S3Objects.prototype, 'sizeOf')
      .mockRejectedValueOnce(new OperatorError('denied', { cause: denied }));
    const env = s3Env(theirs);
    expect(await adminReport(env, 'backup', 'create', `${place()}/by-hand`)).toMatchObject({ damaged: [] });
    asked.mockRestore();
    await expect(adminReport(env, 'backup', 'create', `${place()}/more`)).rejects.toThrow(refusalOf(place()));
  });

  itDeep('keeps the backups of its former owner after a takeover', async () => {
    await adminReport(s3Env(ours), 'backup', 'run');
    const before = await list();
    const run = (...more: string[]): Promise<Report> => adminReport(s3Env(theirs), 'backup', 'run', ...more);
    expect(await run('--adopt')).toMatchObject({ kept: 1, removed: 0 });
    expect(await run()).toMatchObject({ kept: 1, removed: 1 });
    expect(await list()).toEqual(expect.arrayContaining(before as unknown[]));
  });

  itDeep('has one owner when two databases find it empty at the same time', async () => {
    for (let round = 0; round < 5; round++) {
      bucket = s3.bucketName();
      const claims = [ours, theirs].map(({ app }) => app.get(BackupPlaces).claim(target(), false));
      const states = (await Promise.allSettled(claims)).map(({ status }) => status);
      expect(states.sort()).toEqual(['fulfilled', 'rejected']);
    }
  });

  itDeep('has one owner even where the store ignores conditional requests', async () => {
    const late = await theirs.app.get(DatabaseIdentity).id();
    let [arrive, release, written] = [noop, noop, noop];
    const hasArrived = new Promise<void>((resolve) => (arrive = resolve));
    const mayWrite = new Promise<void>((resolve) => (release = resolve));
    const hasWritten = new Promise<void>((resolve) => (written = resolve));
    // `theirs` finds no mark, and writes its own after `ours` has written its mark and before it waits.
    jest.spyOn(S3Objects.prototype, 'putNew').mockImplementation(async function (
      this: S3Objects,
      path,
      text,
    ) {
      if (text === late) {
        arrive();
        await mayWrite;
      } else await hasArrived;
      await this.put(path, bytesOf(text), text.length);
      if (text === late) written();
      return true;
    });
    jest.spyOn(SETTLING, 'wait').mockImplementation(() => {
      release();
      return hasWritten;
    });
    const claims = [ours, theirs].map(({ app }) => app.get(BackupPlaces).claim(target(), false));
    void claims[0]!.finally(release).catch(noop);
    expect((await Promise.allSettled(claims)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });
});
