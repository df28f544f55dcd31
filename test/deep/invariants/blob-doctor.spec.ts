import { randomBytes, randomUUID } from 'node:crypto';
import { rm, writeFile, mkdir, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type BlobStore, BlobStores } from '../../../src/platform/storage/blob-store.js';
import { BlobMover } from '../../../src/platform/storage/index.js';
import { OrphanedCopies } from '../../../src/platform/storage/orphaned-copies.js';
import { Doctor, type Finding } from '../../../src/platform/doctor.js';
import { startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { describeWithTestServers, startS3, type TestS3 } from '../../kit/s3.js';
import { TestBucket } from '../../kit/stored-blobs.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let service: TestService;
let notes: TestWorkspace;

async function examine(
  how: { isDeep?: boolean; fix?: boolean; inMs?: number } = {},
  at = service,
): Promise<Finding[]> {
  const { isDeep = false, fix = false, inMs = 0 } = how;
  const now = new Date(at.clock.now().getTime() + inMs);
  const findings: Finding[] = [];
  for await (const finding of at.app.get(Doctor).examine({ now, isDeep, fix })) findings.push(finding);
  return findings;
}

async function keyOf(path: string): Promise<string> {
  const [row] = await service.database.query<{ key: string }>(
    `SELECT b.workspace_id || '/' || b.id AS key FROM files f
     JOIN versions v ON v.workspace_id = f.workspace_id AND v.file_id = f.id
     JOIN blobs b ON b.workspace_id = v.workspace_id AND b.id = v.blob_id
     WHERE f.encrypted_path = $1`,
    [path],
  );
  return row!.key;
}

function onDisk(key: string): string {
  const [workspace = '', id = ''] = key.split('/');
  return join(service.dataDir, 'blobs', workspace, id.slice(-2), id);
}

async function plant(key: string, bytes: Buffer, age = 2 * HOUR): Promise<void> {
  await mkdir(dirname(onDisk(key)), { recursive: true });
  await writeFile(onDisk(key), bytes);
  const then = new Date(Date.now() - age);
  await utimes(onDisk(key), then, then);
}

describe('the doctor', () => {
  beforeEach(async () => {
    service = await startService();
    notes = await (await service.user('alice')).workspace();
    await notes.put('small', 'a note').expect(201);
    await notes.put('large', randomBytes(100_000)).expect(201);
    await notes.put('huge', randomBytes(1_000_000)).expect(201);
  });
  afterEach(() => service.close());

  it('finds nothing in a sound store', async () => {
    expect(await examine({ isDeep: true })).toEqual([]);
    expect(await examine({ isDeep: true, fix: true })).toEqual([]);
    await notes.get('large').expect(200);
  });

  it.each([
    ['missing', (path: string) => rm(path), 'It has no bytes in the disk store.'],
    [
      'cut off',
      (path: string) => writeFile(path, 'x'),
      'It has 1 bytes instead of 100000 in the disk store.',
    ],
  ])('finds bytes that are %s, and cannot repair them', async (_, damage, problem) => {
    const key = await keyOf('large');
    await damage(onDisk(key));
    for (const fix of [false, true])
      expect(await examine({ fix })).toEqual([
        {
          fault: 'bytes missing or damaged',
          subject: key,
          problem,
          cure: 'Restore its bytes from a backup of the store; without one, whatever refers to them is lost.',
          isFixed: false,
        },
      ]);
  });

  it('finds changed bytes on disk and in rows only when it reads them', async () => {
    const [large, small] = [await keyOf('large'), await keyOf('small')];
    await writeFile(onDisk(large), randomBytes(100_000));
    await service.database.query('UPDATE blobs SET bytes = $2 WHERE id = $1', [
      small.split('/')[1],
      Buffer.from('a nota'),
    ]);
    expect(await examine()).toEqual([]);
    const findings = await examine({ isDeep: true });
    expect(findings.map(({ subject, problem }) => [subject, problem])).toEqual([
      [large, 'Its bytes in the disk store have a different hash.'],
      [small, 'The bytes in its row do not match its size or hash.'],
    ]);
  });

  it('finds bytes without a row, and removes them', async () => {
    const orphan = `${notes.id}/${randomUUID()}`;
    const stranger = `${randomUUID()}/${randomUUID()}`;
    const young = `${notes.id}/${randomUUID()}`;
    await plant(orphan, Buffer.from('left'));
    await plant(stranger, Buffer.from('left'));
    await plant(young, Buffer.from('an upload under way'), 25 * MINUTE);
    const found = await examine();
    expect(found.map(({ fault, subject, isFixed }) => [fault, subject, isFixed]).sort()).toEqual(
      [
        ['orphan', orphan, false],
        ['orphan', stranger, false],
      ].sort(),
    );
    expect((await examine({ fix: true })).every(({ isFixed }) => isFixed)).toBe(true);
    expect(await examine()).toEqual([]);
    expect(await examine({ inMs: 20 * MINUTE })).toMatchObject([{ subject: young }]);
    await notes.get('large').expect(200);
  });

  it('does not count bytes as orphans that are in upload, due for deletion or left by a move', async () => {
    const keys = Array.from({ length: 3 }, () => `${notes.id}/${randomUUID()}`);
    for (const key of keys) await plant(key, Buffer.from('known'));
    const [staged, dying, leftover] = keys.map((key) => key.split('/')[1]);
    const now = service.clock.now();
    const soon = new Date(now.getTime() + HOUR);
    await service.database.query(
      `INSERT INTO blobs (workspace_id, id, state, location, created_at, not_before)
       VALUES ($1, $2, 'staged', 'disk', $4, NULL), ($1, $3, 'dying', 'disk', $4, $5)`,
      [notes.id, staged, dying, now, soon],
    );
    await service.database.query(`INSERT INTO blob_leftovers VALUES ('disk', $1, $2, 'dying', $3)`, [
      notes.id,
      leftover,
      soon,
    ]);
    expect(await examine({ fix: true })).toEqual([]);
  });

  it('finds blobs that the sweeper should have removed, and sweeps them', async () => {
    await service.database.query(
      `INSERT INTO blobs (workspace_id, id, state, location, created_at, not_before)
       VALUES ($1, gen_random_uuid(), 'staged', 'disk', $2, NULL), ($1, gen_random_uuid(), 'dying', 'disk', $2, $2)`,
      [notes.id, service.clock.now()],
    );
    expect(await examine({ inMs: 25 * MINUTE })).toEqual([]);
    const late = { inMs: 2 * HOUR };
    expect(await examine(late)).toMatchObject([
      { fault: 'not swept', subject: 'dead uploads', isFixed: false },
      { fault: 'not swept', subject: 'blobs past their grace', isFixed: false },
    ]);
    expect((await examine({ ...late, fix: true })).map(({ isFixed }) => isFixed)).toEqual([true, true]);
    expect(await examine(late)).toEqual([]);
  });

  it('runs the checks that modules add', async () => {
    const drift = { fault: 'quota', subject: 'alice', problem: 'Off.', cure: 'Count.', isFixed: false };
    service.app.get(Doctor).addCheck(async function* () {
      yield await Promise.resolve(drift);
    });
    expect(await examine()).toEqual([drift]);
  });
});

describeWithTestServers('the doctor, with S3', () => {
  let s3: TestS3;
  let bucket: TestBucket;
  let other: TestService;
  beforeEach(async () => {
    s3 = await startS3();
    bucket = new TestBucket(s3, s3.bucketName());
    service = await startService();
    other = await startService({ beside: service, env: s3.env(bucket.name) });
    notes = await (await service.user('alice')).workspace();
    await notes.put('large', randomBytes(100_000)).expect(201);
    await notes.put('huge', randomBytes(6_000_000)).expect(201);
  });
  afterEach(async () => {
    await other.close();
    await service.close();
  });

  it('finds missing bytes and orphans in a bucket, and leaves foreign objects', async () => {
    await other.app.get(BlobMover).moveAll('s3');
    expect(await examine({ isDeep: true, fix: true }, other)).toEqual([]);
    const [lost, orphan] = [await keyOf('large'), `${notes.id}/${randomUUID()}`];
    await bucket.remove(lost);
    await bucket.put(orphan, Buffer.from('left'));
    await bucket.put('letters/to-a-friend.txt', Buffer.from('somebody else'));
    await rm(onDisk(lost));
    const findings = await examine({ fix: true, inMs: 2 * HOUR }, other);
    expect(findings.map(({ fault, subject, isFixed }) => [fault, subject, isFixed])).toEqual([
      ['bytes missing or damaged', lost, false],
      ['not swept', 'copies left by moves', true],
      ['orphan', orphan, true],
    ]);
    expect(await bucket.keys()).toEqual([await keyOf('huge'), 'letters/to-a-friend.txt'].sort());
  });

  it('finds the bytes after the database was restored from before a move, and corrects the rows', async () => {
    await other.app.get(BlobMover).moveAll('s3');
    await service.database.query('DELETE FROM blob_leftovers');
    const keys = [await keyOf('large'), await keyOf('huge')];
    for (const key of keys) await rm(onDisk(key));
    await service.database.query(`UPDATE blobs SET location = 'disk' WHERE location = 's3'`);

    expect(await examine({ inMs: 2 * HOUR }, other)).toMatchObject([
      { fault: 'bytes elsewhere', isFixed: false },
      { fault: 'bytes elsewhere', isFixed: false },
    ]);
    expect(await examine({ inMs: 2 * HOUR, fix: true }, other)).toMatchObject([
      { isFixed: true },
      { isFixed: true },
    ]);
    expect(await bucket.keys()).toEqual(keys.sort());
    expect(await examine({ isDeep: true, inMs: 2 * HOUR }, other)).toEqual([]);
    await notes.as(notes.user.at(other.url)).get('huge').expect(200);
  });

  describe('bytes on a disk without a row, as after a restore of the database from before a move there', () => {
    let late: TestService;
    beforeEach(async () => {
      const { app } = other;
      const sweep = (): Promise<unknown> =>
        app.get(OrphanedCopies).sweep(new Date(other.clock.now().getTime() + 2 * HOUR));
      for (const to of ['s3', 'disk'] as const) {
        await app.get(BlobMover).moveAll(to);
        await sweep();
      }
      await service.database.query(`UPDATE blobs SET location = 's3'`);
      late = await startService({ beside: other, env: s3.env(bucket.name) });
    });
    afterEach(() => late.close());

    it('are found, and the rows name them again', async () => {
      const elsewhere = { fault: 'bytes elsewhere', isFixed: false };
      expect(await examine({}, late)).toMatchObject([elsewhere, elsewhere]);
      expect(await examine({ fix: true }, late)).toMatchObject([{ isFixed: true }, { isFixed: true }]);
      await notes.as(notes.user.at(late.url)).get('huge').expect(200);
      expect(await examine({ isDeep: true }, late)).toEqual([]);
    });

    it('are neither looked for nor removed in the directory of another database', async () => {
      await plant(`${notes.id}/${randomUUID()}`, Buffer.from('somebody else’s'));
      await writeFile(join(service.dataDir, 'blobs', 'store-id'), randomUUID());
      const missing = { fault: 'bytes missing or damaged', isFixed: false };
      expect(await examine({ fix: true }, late)).toMatchObject([missing, missing]);
    });
  });

  describe('bytes in the bucket that are also on the disk, as after a restore of database and disk', () => {
    const late = { inMs: 2 * HOUR, fix: true };
    let store: BlobStore;
    beforeEach(async () => {
      await other.app.get(BlobMover).moveAll('s3');
      await service.database.query('DELETE FROM blob_leftovers');
      await service.database.query(`UPDATE blobs SET location = 'disk'`);
      store = await other.app.get(BlobStores).at('s3');
    });
    /** Runs a move once, at the first such call of the doctor. */
    const moveBefore = (call: 'sizeOf' | 'delete'): Promise<unknown> =>
      new Promise((resolve) => {
        const original = store[call].bind(store) as (key: string) => Promise<never>;
        store[call] = async (key: string) => {
          store[call] = original;
          resolve(await other.app.get(BlobMover).moveAll('s3'));
          return original(key);
        };
      });
    const expectWhole = async (): Promise<void> => {
      await examine(late, other);
      for (const path of ['large', 'huge']) await notes.as(notes.user.at(other.url)).get(path).expect(200);
      expect(await examine({ isDeep: true, inMs: 2 * HOUR }, other)).toEqual([]);
    };

    it('are not orphans when a move takes them meanwhile', async () => {
      const moved = moveBefore('sizeOf');
      expect(await examine(late, other)).toEqual([]);
      expect(await moved).toEqual({ moved: 2, skipped: 0, failed: 0 });
      expect((await bucket.keys()).length).toBe(2);
      await expectWhole();
    });

    it('delay a move while they are removed, and the next run moves them', async () => {
      const moved = moveBefore('delete');
      expect(await examine(late, other)).toMatchObject([{ isFixed: true }, { isFixed: true }]);
      expect(await moved).toEqual({ moved: 0, skipped: 2, failed: 0 });
      expect(await bucket.keys()).toEqual([]);
      expect(await other.app.get(BlobMover).moveAll('s3')).toEqual({ moved: 2, skipped: 0, failed: 0 });
      await expectWhole();
    });

    it('are not orphans when those on the disk have another hash', async () => {
      const damaged = await keyOf('large');
      await plant(damaged, randomBytes(100_000));
      expect(await examine(late, other)).toMatchObject([{ subject: await keyOf('huge'), isFixed: true }]);
      expect(await bucket.keys()).toEqual([damaged]);
      const elsewhere = { fault: 'bytes elsewhere', subject: damaged, isFixed: true };
      expect(await examine({ ...late, isDeep: true }, other)).toMatchObject([elsewhere, { fault: 'orphan' }]);
      await expectWhole();
    });

    it('are not swept, and do not block a move, when a row names them as they are marked', async () => {
      await other.app.get(BlobMover).moveAll('s3');
      await service.database.query(
        `INSERT INTO blob_leftovers SELECT location, workspace_id, id, 'dying', $1 FROM blobs WHERE location = 's3'`,
        [service.clock.now()],
      );
      expect(await examine(late, other)).toMatchObject([{ subject: 'copies left by moves', isFixed: true }]);
      expect((await bucket.keys()).length).toBe(2);
      expect(await other.app.get(BlobMover).moveAll('disk')).toEqual({ moved: 2, skipped: 0, failed: 0 });
      await expectWhole();
    });
  });

  describe('bytes left on disk by a move, when those in the bucket are lost', () => {
    const lost = async (): Promise<string> => {
      await other.app.get(BlobMover).moveAll('s3');
      const key = await keyOf('large');
      await bucket.remove(key);
      return key;
    };
    const locationOf = async (key: string): Promise<unknown> => {
      const [row] = await service.database.query('SELECT location FROM blobs WHERE id = $1', [
        key.split('/')[1],
      ]);
      return row?.['location'];
    };
    const elsewhere = (subject: string, isFixed: boolean): object => ({
      ...{ fault: 'bytes elsewhere', subject, isFixed },
    });

    it('are named by the row again, and never swept', async () => {
      const key = await lost();
      expect(await examine({ fix: true }, other)).toMatchObject([elsewhere(key, true)]);
      const late = new Date(service.clock.now().getTime() + 2 * HOUR);
      expect(await other.app.get(OrphanedCopies).sweep(late)).toEqual({ gone: 1, stuck: 0 }); // of the other file
      await notes.as(notes.user.at(other.url)).get('large').expect(200);
      expect(await locationOf(key)).toBe('disk');
      expect(await service.database.query('SELECT FROM blob_leftovers')).toEqual([]);
    });

    it('are named by the row again even when overdue: rows are corrected before the sweep', async () => {
      const key = await lost();
      const late = { inMs: 2 * HOUR };
      expect(await examine(late, other)).toMatchObject([elsewhere(key, false), { fault: 'not swept' }]);
      expect(await examine({ ...late, fix: true }, other)).toMatchObject([
        elsewhere(key, true),
        { fault: 'not swept', isFixed: true },
      ]);
      await notes.as(notes.user.at(other.url)).get('large').expect(200);
      expect(await examine({ ...late, isDeep: true }, other)).toEqual([]);
    });

    it.each([
      ['are missing', (key: string) => bucket.remove(key)],
      ['are cut off', (key: string) => bucket.put(key, randomBytes(99_999))],
    ])('are never swept while the bytes that the row names %s', async (_, damage) => {
      const key = await lost();
      await damage(key);
      const orphanedCopies = other.app.get(OrphanedCopies);
      const late = new Date(service.clock.now().getTime() + 2 * HOUR);
      expect(await orphanedCopies.sweep(late)).toEqual({ gone: 1, stuck: 1 });
      expect(other.logged()).toContain('a copy is kept: the location in its row does not have the bytes');
      expect(await examine({ fix: true }, other)).toMatchObject([elsewhere(key, true)]);
      await notes.as(notes.user.at(other.url)).get('large').expect(200);
    });

    it('are swept when those in the bucket are restored', async () => {
      const [content, key] = [await notes.get('large').expect(200), await lost()];
      const late = new Date(service.clock.now().getTime() + 2 * HOUR);
      const orphanedCopies = other.app.get(OrphanedCopies);
      expect(await orphanedCopies.sweep(late)).toEqual({ gone: 1, stuck: 1 });
      await bucket.put(key, content.body as Buffer);
      expect(await orphanedCopies.sweep(late)).toEqual({ gone: 1, stuck: 0 });
      expect(await examine({ isDeep: true, inMs: 2 * HOUR }, other)).toEqual([]);
    });

    it('are not used while a sweeper handles them', async () => {
      const key = await lost();
      const soon = new Date(service.clock.now().getTime() + 10 * MINUTE);
      await service.database.query('UPDATE blob_leftovers SET claimed_until = $1', [soon]);
      expect(await examine({ fix: true }, other)).toMatchObject([elsewhere(key, false)]);
      expect(await locationOf(key)).toBe('s3');
      expect(await service.database.query('SELECT FROM blob_leftovers')).toHaveLength(2);
    });
  });
});
