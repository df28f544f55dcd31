import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Report } from '../../../src/operations/admin/with-service.js';
import { BackupBucket } from '../../../src/operations/backup/backup-bucket.js';
import { BucketParts, bytesOf } from '../../../src/operations/backup/backup-parts.js';
import { BackupSchedule } from '../../../src/operations/backup/backup-schedule.js';
import { Backups } from '../../../src/operations/backup/index.js';
import { TrialCheck } from '../../../src/operations/backup/trial-database.js';
import { diskSpace } from '../../../src/platform/storage/index.js';
import { PATIENCE, S3Connection } from '../../../src/platform/storage/s3/s3-connection.js';
import { S3Objects } from '../../../src/platform/storage/s3/s3-objects.js';
import { adminReport } from '../../kit/admin.js';
import { Exposition } from '../../kit/exposition.js';
import { FaultProxy, type ProxiedRequest } from '../../kit/fault-proxy.js';
import { createDatabase, holdTable, startService, type TestService } from '../../kit/index.js';
import { scrub } from '../../kit/oracles.js';
import { ADMIN, enterEnvironment, environment, type ProcessEnv } from '../../kit/process.js';
import { describeWithTestServers, startS3, type TestS3 } from '../../kit/s3.js';

const SETTINGS = { INLINE_BLOB_BYTES: '1024', AUTH_SECRET: 'the same for whatever restores it' };
const OLD = ['scheduled-2026-01-01T040000.000Z', 'scheduled-2026-01-02T040000.000Z'] as const;
const NEW = expect.stringMatching(/^scheduled-\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z$/) as string;

/** Larger than one part of a multipart upload. */
const LARGE = 5 * 2 ** 20 + 1;
const SIZES = [3000, 3000, LARGE];

describeWithTestServers('scheduled backups in S3', () => {
  let s3: TestS3;
  let proxy: FaultProxy;
  let home: string;
  let service: TestService;
  let bucket: string;
  let env: ProcessEnv;
  let leave: () => void;

  beforeAll(async () => {
    s3 = await startS3();
    proxy = await FaultProxy.before(s3.endpoint);
    home = await mkdtemp(join(tmpdir(), 'sync-backup-s3-'));
    service = await startService({
      env: { ...SETTINGS, BACKUP_DIR: 's3://unused', ...store(), METRICS_PORT: '0' },
    });
    const notes = await (await service.user('alice')).workspace('notes');
    for (const [file, size] of SIZES.entries())
      await notes.put(`file-${file}`, randomBytes(size)).expect(201);
  });
  afterAll(async () => {
    await service.close();
    await proxy.close();
    await rm(home, { recursive: true, force: true });
  });
  beforeEach(async () => {
    await service.database.query('TRUNCATE job_runs');
    bucket = s3.bucketName();
    env = {
      ...SETTINGS,
      ...store(),
      BACKUP_DIR: `s3://${bucket}/of/notes/`,
      BACKUP_KEEP: '2',
      DATABASE_URL: service.database.url,
      DATA_DIR: service.dataDir,
    };
    leave = enterEnvironment(env);
  });
  afterEach(() => {
    leave();
    proxy.heal();
    jest.restoreAllMocks();
  });

  const store = (): ProcessEnv => ({
    BACKUP_S3_ENDPOINT: proxy.url,
    BACKUP_S3_ACCESS_KEY: s3.accessKey,
    BACKUP_S3_SECRET_KEY: s3.secretKey,
  });
  const admin = (...args: string[]): Promise<Report> => adminReport(env, ...args);
  /** The report or the error of a run. */
  const told = (): Promise<string> =>
    admin('backup', 'run').then(
      ({ text }) => text,
      (error: unknown) => (error as Error).message,
    );
  const placeOf = (name: string): string => `s3://${bucket}/of/notes/${name}`;

  /** The objects of BACKUP_DIR, not through the proxy. */
  function objects(): S3Objects {
    const { accessKey, secretKey, region, endpoint } = s3;
    const settings = { isOwn: true, endpoint, accessKey, secretKey, region };
    return S3Objects.at(settings, { bucket, prefix: 'of/notes' });
  }

  const target = (): BackupBucket => new BackupBucket(`s3://${bucket}/of/notes`, objects(), home);

  async function states(): Promise<[string, string][]> {
    return (await target().list()).map(({ name, state }) => [name, state]);
  }

  async function plant(...names: string[]): Promise<void> {
    await objects().makeBucket();
    for (const name of names)
      for (const part of ['begun', 'manifest.json', 'verified'])
        await objects().put(`${name}/${part}`, bytesOf('{}'));
  }

  /** Makes the store unreachable from the first matching request on. */
  function awayFrom(method: string, path: RegExp): void {
    PATIENCE.ms = 0;
    let isAway = false;
    proxy.set((request) => {
      isAway ||= request.method === method && path.test(request.path);
      return isAway ? { kind: 'reset' } : undefined;
    });
  }
  const patience = PATIENCE.ms;
  afterEach(() => {
    PATIENCE.ms = patience;
  });

  it('are streamed, verified from the store, listed, reported, and restored on another machine', async () => {
    await service.app.get(BackupSchedule).runIfDue();
    expect(service.logged()).not.toContain('the scheduled backup failed');
    const listed = await admin('backup', 'list');
    const [{ name } = { name: '' }] = listed['backups'] as { name: string }[];
    expect(listed['backups']).toEqual([
      expect.objectContaining({ name: NEW, state: 'verified', blobs: { count: 3, bytes: LARGE + 6000 } }),
    ]);
    const { text } = await Exposition.of(service);
    expect(text).toMatch(/^cloud_sync_backup_last_verified_timestamp_seconds \d/m);
    expect((await readdir(service.dataDir)).filter((name) => name.startsWith('backup-trial'))).toEqual([]);

    const read = proxy.requests.filter(({ method, path }) => method === 'GET' && path.includes('/blobs/'));
    expect(new Set(read.map(({ path }) => path)).size).toBe(3); // the trial has read the stored bytes
    const database = await createDatabase();
    const place = {
      ...env,
      BACKUP_DIR: '',
      DATABASE_URL: database.url,
      DATA_DIR: await mkdtemp(join(home, 'data-')),
    };
    expect(await adminReport(place, 'backup', 'restore', placeOf(name), '--dry-run')).toMatchObject({
      dryRun: true,
    });
    await adminReport(place, 'backup', 'restore', placeOf(name));
    expect(await scrub(database, place.DATA_DIR)).toBe(3);
    await database.drop();
  });

  it('are kept BACKUP_KEEP times; backups by hand stay, and can be verified there', async () => {
    await plant(...OLD, 'scheduled-2026-01-03T040000.000Z');
    const byHand = placeOf('by-hand');
    expect(await admin('backup', 'create', byHand)).toMatchObject({ damaged: [] });
    await expect(admin('backup', 'create', byHand)).rejects.toThrow(`${byHand} is not empty`);
    expect(await admin('backup', 'verify', byHand)).toMatchObject({ isWhole: true });
    expect(await admin('backup', 'run')).toMatchObject({ kept: 2, removed: 2 });
    expect(await states()).toEqual([
      ['scheduled-2026-01-03T040000.000Z', 'verified'],
      ['by-hand', 'by hand'],
      [NEW, 'verified'],
    ]);
  });

  it('that the store has damaged stay unverified, and remove no verified one', async () => {
    await plant(...OLD);
    const create = Reflect.get(Backups.prototype, 'create');
    jest.spyOn(Backups.prototype, 'create').mockImplementation(async function (
      this: Backups,
      place,
      options,
    ) {
      const manifest = await create.call(this, place, options);
      const [id = ''] = await objects()
        .below(`${place.split('/').at(-1)}/blobs`)
        .names();
      const isPart = ({ method, path }: ProxiedRequest): boolean =>
        method === 'PUT' &&
        path.startsWith(`/${bucket}/of/notes/`) &&
        path.includes(`/blobs/${id}/`) &&
        !path.includes('?');
      const key = proxy.requests.find(isPart)!.path;
      await objects().put(key.slice(`/${bucket}/of/notes/`.length), bytesOf('x'.repeat(3000)));
      return manifest;
    });
    const failed = admin('backup', 'run');
    await expect(failed).rejects.toThrow(/^The backup is kept as scheduled-\S+: .*blob \S+ is damaged\.$/);
    expect(await states()).toEqual([...OLD.map((name) => [name, 'verified']), [NEW, 'unverified']]);
  });

  it.each([
    ['before it begins', 'PUT', /\/begun$/],
    ['in the tables', 'PUT', /\/tables\/users/],
    ['in the blobs', 'PUT', /\/blobs\//],
    ['before the manifest', 'PUT', /\/manifest\.json$/],
  ])('that end %s keep verified backups, and leave nothing that looks complete', async (_, method, path) => {
    await plant(...OLD);
    awayFrom(method, path);
    await expect(admin('backup', 'run')).rejects.toThrow(
      /^The S3 store at \S+ does not answer \(ECONNRESET\)/,
    );
    const [one, other, ...rest] = await states();
    expect([one, other]).toEqual(OLD.map((name) => [name, 'verified']));
    expect(rest.filter(([, state]) => state !== 'partial')).toEqual([]);
    proxy.heal();
    await target().begin(new Date());
    expect(await states()).toHaveLength(2);
  });

  it('that end between the trial and its result are unverified, and the next one replaces them', async () => {
    await plant(...OLD);
    awayFrom('PUT', /\/verified$/);
    await expect(admin('backup', 'run')).rejects.toThrow('does not answer');
    expect(await states()).toEqual([...OLD.map((name) => [name, 'verified']), [NEW, 'unverified']]);
    proxy.heal();
    await admin('backup', 'run');
    expect(await states()).toEqual([
      [OLD[1], 'verified'],
      [NEW, 'verified'],
    ]);
  });

  it('survive lost responses, refused requests and short outages of the store', async () => {
    const faults = [
      { kind: 'cut after sending' },
      { kind: 'reset' },
      { kind: 'answer', status: 503, code: 'SlowDown' },
    ] as const;
    const seen = new Map<string, number>();
    const isMet = ({ method, path }: ProxiedRequest): boolean =>
      /\/(?:begun|manifest\.json|verified)$|\/tables\/users|\/blobs\//.test(path) && method !== 'HEAD';
    proxy.set((request) => {
      if (!isMet(request)) return undefined;
      const key = `${request.method} ${request.path.replace(/uploadId=[^&]*/, '')}`;
      const times = seen.get(key) ?? 0;
      seen.set(key, times + 1);
      return times === 0 ? faults[seen.size % faults.length] : undefined;
    });
    expect(await told()).toMatch(/^Made a verified backup/);
    expect(await states()).toEqual([[NEW, 'verified']]);
    expect([...seen.values()].filter((times) => times > 1).length).toBeGreaterThan(5);
  });

  it('are not removed while the store does not return their manifests', async () => {
    await plant(...OLD);
    PATIENCE.ms = 0;
    proxy.set(({ path }) =>
      path.endsWith('/manifest.json') ? { kind: 'answer', status: 503, code: 'SlowDown' } : undefined,
    );
    await expect(admin('backup', 'run')).rejects.toThrow('does not answer (HTTP 503)');
    expect(proxy.requests.filter(({ method, path }) => method === 'DELETE' && path.includes(bucket))).toEqual(
      [],
    );
    expect(await states()).toEqual(OLD.map((name) => [name, 'verified']));
  });

  it('that another run has removed cannot be completed; their unfinished uploads are removed', async () => {
    const first = target();
    const { draft, stamp } = await first.begin(new Date('2026-01-03T04:00:00Z'));
    const name = draft.split('/').at(-1)!;
    const parts = new BucketParts(draft, objects().below(name));
    await parts.begin();
    const { endpoint, accessKey, secretKey, region } = s3;
    const connection = new S3Connection({ endpoint, accessKey, secretKey, region, bucket });
    await connection.call((client) =>
      client.initiateNewMultipartUpload(bucket, `of/notes/${name}/tables/versions.copy.gz`, {}),
    );
    await target().begin(new Date());
    await expect(parts.complete('manifest.json', '{}')).rejects.toThrow('has been removed meanwhile');
    await first.publish(draft, stamp); // has no effect without a manifest
    expect(await states()).toEqual([[name, 'partial']]);
    const { uploads } = await connection.call((client) =>
      client.listIncompleteUploadsQuery(bucket, '', '', '', ''),
    );
    expect(uploads).toEqual([]);
    connection.close();
  });

  describe('whose run', () => {
    const waiting = (count: number): Promise<void> =>
      service.database.eventually(
        `SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '%backup' AND wait_event_type = 'Lock'
           AND datname = current_database() HAVING count(*) = ${count}`,
      );

    /** A run that waits for a table, with its draft begun. */
    async function halfWay(): Promise<{
      child: ChildProcess;
      ended: Promise<unknown[]>;
      release: () => Promise<void>;
    }> {
      const { release } = await holdTable(service.database, 'versions');
      try {
        const stdio = ['ignore', 'ignore', 'inherit'] as const;
        const child = spawn(process.execPath, [ADMIN, 'backup', 'run'], {
          env: environment(env),
          stdio: [...stdio],
        });
        const ended = once(child, 'exit');
        const tooSoon = ended.then((how) => Promise.reject(new Error(`the run has ended: ${how.join()}`)));
        await Promise.race([waiting(1), tooSoon]);
        tooSoon.catch(() => undefined);
        return { child, ended, release };
      } catch (error) {
        await release(); // else later tests would wait for it
        throw error;
      }
    }

    it('is killed are partial, and the next run removes them', async () => {
      const { child, ended, release } = await halfWay();
      child.kill('SIGKILL');
      await ended;
      await release();
      expect(await states()).toEqual([[NEW, 'partial']]);
      await service.database.eventually(
        `SELECT WHERE NOT EXISTS (SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
                                  WHERE locktype = 'advisory' AND objid = 3030222707 AND datname = current_database())`,
      );
      await admin('backup', 'run');
      expect(await states()).toEqual([[NEW, 'verified']]);
    });

    it('loses its lock are not completed, and the run that took the lock makes one', async () => {
      const { ended, release } = await halfWay();
      await service.database.query(
        `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
         WHERE l.locktype = 'advisory' AND l.objid = 3030222707 AND d.datname = current_database()`,
      );
      const again = admin('backup', 'run');
      await waiting(2);
      await release();
      expect(await again).toMatchObject({ kept: 1 });
      expect(await ended).toEqual([1, null]);
      expect(await states()).toEqual([[NEW, 'verified']]);
    });
  });

  it('whose removal is interrupted are partial', async () => {
    await plant(...OLD, 'scheduled-2026-01-03T040000.000Z');
    await objects().put(`${OLD[0]}/tables/users.copy.gz`, bytesOf('rows'));
    jest.spyOn(S3Objects.prototype, 'removeAll').mockRejectedValue(new Error('killed'));
    await expect(target().prune(2, '2026-01-03T040000.000Z')).rejects.toThrow('killed');
    expect((await states()).slice(0, 2)).toEqual([
      [OLD[0], 'partial'],
      [OLD[1], 'verified'],
    ]);
  });

  it('without disk space for their trial are kept unverified', async () => {
    const [earlier] = OLD;
    await plant(earlier);
    await objects().remove(`${earlier}/verified`);
    const { total } = await diskSpace(home);
    env.MIN_FREE_BYTES = String(total);
    expect(await told()).toMatch(
      /^The backup is kept as scheduled-\S+: The disk of the trial of the backup is that of DATA_DIR and too full/,
    );
    // The trial goes on until the process ends, which does not wait for the removal of another backup.
    expect(await states()).toEqual([
      [earlier, 'unverified'],
      [NEW, 'unverified'],
    ]);
    await target().begin(new Date());
    expect(await states()).toEqual([[NEW, 'unverified']]);
  });

  it('fail with one sentence for wrong keys, a missing bucket and a malformed place', async () => {
    const wrong = { ...env, BACKUP_S3_SECRET_KEY: 'not-the-key' };
    await expect(adminReport(wrong, 'backup', 'list')).rejects.toThrow('refuses this BACKUP_S3_SECRET_KEY');
    await expect(admin('backup', 'list')).rejects.toThrow(`has no bucket ${bucket}; check its name`);
    await expect(admin('backup', 'restore', 's3://x')).rejects.toThrow('must be s3://bucket/prefix');
    await plant();
    await expect(admin('backup', 'verify', placeOf('nothing'))).rejects.toThrow(
      `${placeOf('nothing')} does not contain a complete backup: manifest.json cannot be read.`,
    );
    const without = {
      ...env,
      BACKUP_DIR: '',
      BACKUP_S3_ENDPOINT: '',
      BACKUP_S3_ACCESS_KEY: '',
      BACKUP_S3_SECRET_KEY: '',
    };
    await expect(adminReport(without, 'backup', 'verify', placeOf('nothing'))).rejects.toThrow(
      'There is no S3 store; set BACKUP_S3_ENDPOINT',
    );
  });

  it('in the bucket of the blobs work with the keys of the blobs, and doctor reports it', async () => {
    const beside = await startService({
      env: { ...SETTINGS, ...s3.env(bucket), BACKUP_DIR: `s3://${bucket}/backups` },
    });
    expect(beside.logged()).toContain('BACKUP_DIR is in the bucket of the blobs');
    const found = [];
    for await (const finding of beside.app.get(TrialCheck).place()) found.push(finding);
    expect(found).toMatchObject([{ fault: 'backups beside blobs', subject: `s3://${bucket}/backups` }]);
    await (await (await beside.user('bob')).workspace('notes')).put('large', randomBytes(3000)).expect(201);
    await beside.app.get(Backups).create(`s3://${bucket}/backups/one`);
    expect(await beside.app.get(Backups).create(`s3://${bucket}/backups/two`)).toMatchObject({
      blobs: { count: 1, bytes: 3000 },
    });
    await beside.close();
  });
});
