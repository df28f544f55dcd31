import { randomBytes, randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BlobStore, BlobStores } from '../../../src/platform/storage/blob-store.js';
import { BlobMover } from '../../../src/platform/storage/index.js';
import { OrphanedCopies } from '../../../src/platform/storage/orphaned-copies.js';
import { startService, type TestService } from '../../kit/index.js';
import { describeWithTestServers, startS3, type TestS3 } from '../../kit/s3.js';
import { TestBucket } from '../../kit/stored-blobs.js';
import { MINUTE, HOUR, Examined } from '../../kit/blob-doctor.js';

const at = new Examined();

describeWithTestServers('the doctor, with S3', () => {
  let s3: TestS3;
  let bucket: TestBucket;
  let other: TestService;
  beforeEach(async () => {
    s3 = await startS3();
    bucket = new TestBucket(s3, s3.bucketName());
    at.service = await startService();
    other = await startService({ beside: at.service, env: s3.env(bucket.name) });
    at.notes = await (await at.service.user('alice')).workspace();
    await at.notes.put('large', randomBytes(100_000)).expect(201);
    await at.notes.put('huge', randomBytes(6_000_000)).expect(201);
  });
  afterEach(async () => {
    await other.close();
    await at.service.close();
  });

  it('finds missing bytes and orphans in a bucket, and leaves foreign objects', async () => {
    await other.app.get(BlobMover).moveAll('s3');
    expect(await at.examine({ isDeep: true, fix: true }, other)).toEqual([]);
    const [lost, orphan] = [await at.keyOf('large'), `${at.notes.id}/${randomUUID()}`];
    await bucket.remove(lost);
    await bucket.put(orphan, Buffer.from('left'));
    await bucket.put('letters/to-a-friend.txt', Buffer.from('somebody else'));
    await rm(at.onDisk(lost));
    const findings = await at.examine({ fix: true, inMs: 2 * HOUR }, other);
    expect(findings.map(({ fault, subject, isFixed }) => [fault, subject, isFixed])).toEqual([
      ['bytes missing or damaged', lost, false],
      ['not swept', 'copies left by moves', true],
      ['orphan', orphan, true],
    ]);
    expect(await bucket.keys()).toEqual([await at.keyOf('huge'), 'letters/to-a-friend.txt'].sort());
  });

  it('finds the bytes after the database was restored from before a move, and corrects the rows', async () => {
    await other.app.get(BlobMover).moveAll('s3');
    await at.service.database.query('DELETE FROM blob_leftovers');
    const keys = [await at.keyOf('large'), await at.keyOf('huge')];
    for (const key of keys) await rm(at.onDisk(key));
    await at.service.database.query(`UPDATE blobs SET location = 'disk' WHERE location = 's3'`);

    expect(await at.examine({ inMs: 2 * HOUR }, other)).toMatchObject([
      { fault: 'bytes elsewhere', isFixed: false },
      { fault: 'bytes elsewhere', isFixed: false },
    ]);
    expect(await at.examine({ inMs: 2 * HOUR, fix: true }, other)).toMatchObject([
      { isFixed: true },
      { isFixed: true },
    ]);
    expect(await bucket.keys()).toEqual(keys.sort());
    expect(await at.examine({ isDeep: true, inMs: 2 * HOUR }, other)).toEqual([]);
    await at.notes.as(at.notes.user.at(other.url)).get('huge').expect(200);
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
      await at.service.database.query(`UPDATE blobs SET location = 's3'`);
      late = await startService({ beside: other, env: s3.env(bucket.name) });
    });
    afterEach(() => late.close());

    it('are found, and the rows name them again', async () => {
      const elsewhere = { fault: 'bytes elsewhere', isFixed: false };
      expect(await at.examine({}, late)).toMatchObject([elsewhere, elsewhere]);
      expect(await at.examine({ fix: true }, late)).toMatchObject([{ isFixed: true }, { isFixed: true }]);
      await at.notes.as(at.notes.user.at(late.url)).get('huge').expect(200);
      expect(await at.examine({ isDeep: true }, late)).toEqual([]);
    });

    it('are neither looked for nor removed in the directory of another database', async () => {
      await at.plant(`${at.notes.id}/${randomUUID()}`, Buffer.from('somebody else’s'));
      await writeFile(join(at.service.dataDir, 'blobs', 'store-id'), randomUUID());
      const missing = { fault: 'bytes missing or damaged', isFixed: false };
      expect(await at.examine({ fix: true }, late)).toMatchObject([missing, missing]);
    });
  });

  describe('bytes in the bucket that are also on the disk, as after a restore of database and disk', () => {
    const late = { inMs: 2 * HOUR, fix: true };
    let store: BlobStore;
    beforeEach(async () => {
      await other.app.get(BlobMover).moveAll('s3');
      await at.service.database.query('DELETE FROM blob_leftovers');
      await at.service.database.query(`UPDATE blobs SET location = 'disk'`);
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
      await at.examine(late, other);
      for (const path of ['large', 'huge'])
        await at.notes.as(at.notes.user.at(other.url)).get(path).expect(200);
      expect(await at.examine({ isDeep: true, inMs: 2 * HOUR }, other)).toEqual([]);
    };

    it('are not orphans when a move takes them meanwhile', async () => {
      const moved = moveBefore('sizeOf');
      expect(await at.examine(late, other)).toEqual([]);
      expect(await moved).toEqual({ moved: 2, skipped: 0, failed: 0 });
      expect((await bucket.keys()).length).toBe(2);
      await expectWhole();
    });

    it('delay a move while they are removed, and the next run moves them', async () => {
      const moved = moveBefore('delete');
      expect(await at.examine(late, other)).toMatchObject([{ isFixed: true }, { isFixed: true }]);
      expect(await moved).toEqual({ moved: 0, skipped: 2, failed: 0 });
      expect(await bucket.keys()).toEqual([]);
      expect(await other.app.get(BlobMover).moveAll('s3')).toEqual({ moved: 2, skipped: 0, failed: 0 });
      await expectWhole();
    });

    it('are not orphans when those on the disk have another hash', async () => {
      const damaged = await at.keyOf('large');
      await at.plant(damaged, randomBytes(100_000));
      expect(await at.examine(late, other)).toMatchObject([
        { subject: await at.keyOf('huge'), isFixed: true },
      ]);
      expect(await bucket.keys()).toEqual([damaged]);
      const elsewhere = { fault: 'bytes elsewhere', subject: damaged, isFixed: true };
      expect(await at.examine({ ...late, isDeep: true }, other)).toMatchObject([
        elsewhere,
        { fault: 'orphan' },
      ]);
      await expectWhole();
    });

    it('are not swept, and do not block a move, when a row names them as they are marked', async () => {
      await other.app.get(BlobMover).moveAll('s3');
      await at.service.database.query(
        `INSERT INTO blob_leftovers SELECT location, workspace_id, id, 'dying', $1 FROM blobs WHERE location = 's3'`,
        [at.service.clock.now()],
      );
      expect(await at.examine(late, other)).toMatchObject([
        { subject: 'copies left by moves', isFixed: true },
      ]);
      expect((await bucket.keys()).length).toBe(2);
      expect(await other.app.get(BlobMover).moveAll('disk')).toEqual({ moved: 2, skipped: 0, failed: 0 });
      await expectWhole();
    });
  });

  describe('bytes left on disk by a move, when those in the bucket are lost', () => {
    const lost = async (): Promise<string> => {
      await other.app.get(BlobMover).moveAll('s3');
      const key = await at.keyOf('large');
      await bucket.remove(key);
      return key;
    };
    const locationOf = async (key: string): Promise<unknown> => {
      const [row] = await at.service.database.query('SELECT location FROM blobs WHERE id = $1', [
        key.split('/')[1],
      ]);
      return row?.['location'];
    };
    const elsewhere = (subject: string, isFixed: boolean): object => ({
      ...{ fault: 'bytes elsewhere', subject, isFixed },
    });

    it('are named by the row again, and never swept', async () => {
      const key = await lost();
      expect(await at.examine({ fix: true }, other)).toMatchObject([elsewhere(key, true)]);
      const late = new Date(at.service.clock.now().getTime() + 2 * HOUR);
      expect(await other.app.get(OrphanedCopies).sweep(late)).toEqual({ gone: 1, stuck: 0 }); // of the other file
      await at.notes.as(at.notes.user.at(other.url)).get('large').expect(200);
      expect(await locationOf(key)).toBe('disk');
      expect(await at.service.database.query('SELECT FROM blob_leftovers')).toEqual([]);
    });

    it('are named by the row again even when overdue: rows are corrected before the sweep', async () => {
      const key = await lost();
      const late = { inMs: 2 * HOUR };
      expect(await at.examine(late, other)).toMatchObject([elsewhere(key, false), { fault: 'not swept' }]);
      expect(await at.examine({ ...late, fix: true }, other)).toMatchObject([
        elsewhere(key, true),
        { fault: 'not swept', isFixed: true },
      ]);
      await at.notes.as(at.notes.user.at(other.url)).get('large').expect(200);
      expect(await at.examine({ ...late, isDeep: true }, other)).toEqual([]);
    });

    it.each([
      ['are missing', (key: string) => bucket.remove(key)],
      ['are cut off', (key: string) => bucket.put(key, randomBytes(99_999))],
    ])('are never swept while the bytes that the row names %s', async (_, damage) => {
      const key = await lost();
      await damage(key);
      const orphanedCopies = other.app.get(OrphanedCopies);
      const late = new Date(at.service.clock.now().getTime() + 2 * HOUR);
      expect(await orphanedCopies.sweep(late)).toEqual({ gone: 1, stuck: 1 });
      expect(other.logged()).toContain('a copy is kept: the location in its row does not have the bytes');
      expect(await at.examine({ fix: true }, other)).toMatchObject([elsewhere(key, true)]);
      await at.notes.as(at.notes.user.at(other.url)).get('large').expect(200);
    });

    it('are swept when those in the bucket are restored', async () => {
      const [content, key] = [await at.notes.get('large').expect(200), await lost()];
      const late = new Date(at.service.clock.now().getTime() + 2 * HOUR);
      const orphanedCopies = other.app.get(OrphanedCopies);
      expect(await orphanedCopies.sweep(late)).toEqual({ gone: 1, stuck: 1 });
      await bucket.put(key, content.body as Buffer);
      expect(await orphanedCopies.sweep(late)).toEqual({ gone: 1, stuck: 0 });
      expect(await at.examine({ isDeep: true, inMs: 2 * HOUR }, other)).toEqual([]);
    });

    it('are not used while a sweeper handles them', async () => {
      const key = await lost();
      const soon = new Date(at.service.clock.now().getTime() + 10 * MINUTE);
      await at.service.database.query('UPDATE blob_leftovers SET claimed_until = $1', [soon]);
      expect(await at.examine({ fix: true }, other)).toMatchObject([elsewhere(key, false)]);
      expect(await locationOf(key)).toBe('s3');
      expect(await at.service.database.query('SELECT FROM blob_leftovers')).toHaveLength(2);
    });
  });
});
