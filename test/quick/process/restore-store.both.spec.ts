import { randomBytes, randomUUID } from 'node:crypto';
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Report } from '../../../src/operations/admin/with-service.js';
import { OperatorError } from '../../../src/platform/config/index.js';
import { adminReport } from '../../kit/admin.js';
import {
  createDatabase,
  startService,
  type TestDatabase,
  TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { scrub } from '../../kit/oracles.js';
import { ADMIN, type ProcessEnv, runProcess } from '../../kit/process.js';
import { describeWithTestServers, startS3, type TestS3 } from '../../kit/s3.js';
import { expectNothingLostOrLeft, TestBucket } from '../../kit/stored-blobs.js';
import { itDeep } from '../../kit/rounds.js';

const SETTINGS = { INLINE_BLOB_BYTES: '1024', AUTH_SECRET: 'the same for whatever restores it' };
const CONTENTS = [0, 1, 2].map((file) => ({ path: `file-${file}`, bytes: randomBytes(3000) }));

/** The sentence with which a restore is refused, or `restored`. */
const outcomeOf = (attempt: Promise<Report>): Promise<string> =>
  attempt.then(
    () => 'restored',
    (error: unknown) => {
      if (error instanceof OperatorError) return error.message;
      throw error;
    },
  );

describeWithTestServers('a restore after only the database was lost, with the blobs in S3', () => {
  let home: string;
  let s3: TestS3;
  let bucket: TestBucket;
  let backup: string;
  let notes: TestWorkspace;
  /** The store id that the bucket has, and that the lost database had. */
  let id: string;
  let database: TestDatabase;
  let env: ProcessEnv;

  beforeAll(async () => {
    s3 = await startS3();
    home = await mkdtemp(join(tmpdir(), 'sync-restore-store-'));
  });
  afterAll(() => rm(home, { recursive: true, force: true }));
  beforeEach(async () => {
    bucket = new TestBucket(s3, s3.bucketName());
    const service = await startService({ env: { ...SETTINGS, ...s3.env(bucket.name) } });
    notes = await (await service.user('alice')).workspace('notes');
    for (const { path, bytes } of CONTENTS) await notes.put(path, bytes).expect(201);
    backup = join(await mkdtemp(join(home, 'of-')), 'backup');
    const lost = {
      ...s3.env(bucket.name),
      DATABASE_URL: service.database.url,
      DATA_DIR: service.dataDir,
    };
    await adminReport({ ...SETTINGS, ...lost }, 'backup', 'create', backup);
    await service.close();
    id = String(await bucket.bytes('store-id'));
    database = await createDatabase();
    env = {
      ...SETTINGS,
      ...s3.env(bucket.name),
      DATABASE_URL: database.url,
      DATA_DIR: await mkdtemp(join(home, 'data-')),
    };
  });
  afterEach(() => database.drop());

  const restore = (...options: string[]): Promise<Report> =>
    adminReport(env, 'backup', 'restore', backup, ...options);
  const registered = (): Promise<{ id: string }[]> =>
    database.query(`SELECT id FROM blob_stores WHERE location = 's3'`);
  const register = (other: string): Promise<unknown> =>
    database.query(`INSERT INTO blob_stores VALUES ('s3', $1)`, [other]);

  /** All objects with the tags and times of their last writes. */
  async function objects(): Promise<[string, string][]> {
    const found: [string, string][] = [];
    const listed = bucket.client.listObjectsV2(bucket.name, '', true);
    for await (const { name, etag, lastModified } of listed as AsyncIterable<Record<string, unknown>>)
      found.push([String(name), `${String(etag)} ${String(lastModified)}`]);
    return found;
  }
  const blobsOnly = (found: [string, string][]): [string, string][] =>
    found.filter(([name]) => name !== 'store-id');

  async function expectRefused(sentence: string | RegExp, ...options: string[]): Promise<void> {
    const before = { stores: await registered(), objects: await objects() };
    for (const how of [['--dry-run'], []]) {
      expect(await outcomeOf(restore(...how, ...options))).toMatch(sentence);
      expect({ stores: await registered(), objects: await objects() }).toEqual(before);
      expect(await database.query('SELECT FROM users UNION ALL SELECT FROM blobs')).toEqual([]);
    }
  }

  async function expectRestored(): Promise<void> {
    expect(await registered()).toEqual([{ id }]);
    expect(String(await bucket.bytes('store-id'))).toBe(id);
    expect(await expectNothingLostOrLeft(database, bucket)).toBe(CONTENTS.length);
    expect(await adminReport(env, 'doctor', '--deep')).toMatchObject({ found: 0 });
    const service = await startService({ env });
    try {
      const restored = notes.as(await TestUser.logIn(service.url, 'alice'));
      for (const { path, bytes } of CONTENTS)
        expect((await restored.get(path).expect(200)).body).toEqual(bytes);
    } finally {
      await service.close();
    }
  }

  itDeep('is refused without --adopt-store, also in a dry run, and names the option', async () => {
    await expectRefused(
      `The bucket ${bucket.name} belongs to another database; set S3_BUCKET to a bucket of its own, or restore with --adopt-store if that database is lost or no longer used.`,
    );
  });

  itDeep('takes the bucket over with --adopt-store: the blobs are unchanged and readable', async () => {
    const before = await objects();
    expect(await restore('--dry-run', '--adopt-store')).toMatchObject({
      dryRun: true,
      adoptsStore: true,
      text: expect.stringContaining('the bucket of another database would be taken over') as string,
    });
    expect([await registered(), await objects()]).toEqual([[], before]);
    const { code, output } = await runProcess(env, ADMIN, ['backup', 'restore', backup, '--adopt-store']);
    expect([code, output]).toEqual([0, expect.stringMatching(/^Restored 1 accounts, .* 3 large blobs/)]);
    expect(blobsOnly(await objects())).toEqual(blobsOnly(before));
    await expectRestored();
  });

  it('takes over the bucket when the database has another one without blobs', async () => {
    await register(randomUUID());
    await expectRefused('restore with --adopt-store');
    await restore('--adopt-store');
    await expectRestored();
  });

  itDeep('needs no option once the database has the id of the bucket, and allows it', async () => {
    await register(id);
    await restore('--dry-run');
    await restore('--dry-run', '--adopt-store');
    await restore();
    await expectRestored();
  });

  itDeep('that failed after it had taken the bucket over succeeds when it is repeated', async () => {
    const [key] = blobsOnly(await objects())[0]!;
    await bucket.remove(key);
    const whole = backup;
    backup = join(await mkdtemp(join(home, 'copy-')), 'backup');
    await cp(whole, backup, { recursive: true });
    await writeFile(join(backup, 'blobs', key), 'damaged');
    await expect(restore('--adopt-store')).rejects.toThrow(`The backup's blob ${key} is damaged.`);
    expect(await registered()).toEqual([{ id }]);
    expect(await database.query('SELECT FROM users UNION ALL SELECT FROM blobs')).toEqual([]);
    backup = whole;
    await restore('--adopt-store');
    await expectRestored();
  });

  itDeep('takes nothing over when the backup cannot be read, or the database is in use', async () => {
    const whole = backup;
    backup = join(home, 'nothing');
    await expectRefused('does not contain a complete backup', '--adopt-store');
    backup = whole;
    await database.query(`INSERT INTO instances (id, alive_until) VALUES ($1, now() + interval '1 hour')`, [
      randomUUID(),
    ]);
    await expectRefused('A service is running on this database; stop it first.', '--adopt-store');
  });

  itDeep('takes over no bucket while the database has blobs in another one', async () => {
    await register(randomUUID());
    await database.query(
      `INSERT INTO blob_leftovers (location, workspace_id, id, state, not_before)
       VALUES ('s3', $1, $1, 'dying', now())`,
      [randomUUID()],
    );
    await expectRefused(/ is not the one with this database's blobs/, '--adopt-store');
  });

  itDeep('reports a damaged id of the bucket', async () => {
    await bucket.put('store-id', Buffer.from('no id'));
    await expectRefused(/^The object store-id in the bucket \S+ is damaged; /, '--adopt-store');
  });

  itDeep(
    'creates a bucket with or without the option, and none in a dry run or without a backup',
    async () => {
      for (const options of [[], ['--adopt-store']]) {
        const fresh = new TestBucket(s3, s3.bucketName());
        const empty = await createDatabase();
        const place = { ...env, ...s3.env(fresh.name), DATABASE_URL: empty.url };
        await adminReport(place, 'backup', 'restore', backup, '--dry-run', ...options);
        await expect(
          adminReport(place, 'backup', 'restore', join(home, 'nothing'), ...options),
        ).rejects.toThrow('does not contain a complete backup');
        expect(await fresh.client.bucketExists(fresh.name)).toBe(false);
        expect(await empty.query('SELECT FROM blob_stores')).toEqual([]);
        await adminReport(place, 'backup', 'restore', backup, ...options);
        expect(await expectNothingLostOrLeft(empty, fresh)).toBe(CONTENTS.length);
        await empty.drop();
      }
    },
  );

  itDeep('to disk is the same with the option: a new database adopts the directory', async () => {
    const dataDir = await mkdtemp(join(home, 'data-'));
    for (const options of [[], ['--adopt-store']]) {
      const empty = await createDatabase();
      const place = { ...SETTINGS, DATABASE_URL: empty.url, DATA_DIR: dataDir };
      await adminReport(place, 'backup', 'restore', backup, ...options);
      expect(await scrub(empty, dataDir)).toBe(CONTENTS.length);
      await empty.drop();
    }
    expect(await readdir(join(dataDir, 'blobs'))).toContain(notes.id);
  });
});
