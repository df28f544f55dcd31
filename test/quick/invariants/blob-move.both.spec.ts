import { randomBytes } from 'node:crypto';
import { access, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Configuration } from '../../../src/platform/config/index.js';
import { type BlobStore, BlobStores } from '../../../src/platform/storage/blob-store.js';
import { type BlobLocation, BlobMover, BlobUpkeep, type Moved } from '../../../src/platform/storage/index.js';
import { OrphanedCopies } from '../../../src/platform/storage/orphaned-copies.js';
import { FaultProxy } from '../../kit/fault-proxy.js';
import { startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { describeWithTestServers, startS3 } from '../../kit/s3.js';
import { TestBucket } from '../../kit/stored-blobs.js';
import { itDeep, rounds } from '../../kit/rounds.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SIZES = [0, 61, 5_000, 65_536, 65_537, 300_000, rounds(400_000, 6 * 1024 * 1024)];

describeWithTestServers('a move between disk, S3 and the rows', () => {
  /** `onDisk` runs as before S3 was set up, `service` beside it with S3. */
  let onDisk: TestService;
  let service: TestService;
  let proxy: FaultProxy;
  let bucket: TestBucket;
  let names = 0;

  beforeEach(async () => {
    const s3 = await startS3();
    proxy = await FaultProxy.before(s3.endpoint);
    bucket = new TestBucket(s3, s3.bucketName());
    onDisk = await startService();
    service = await startService({ beside: onDisk, env: s3.env(bucket.name, proxy.url) });
  });
  afterEach(async () => {
    await service.close();
    await onDisk.close();
    await proxy.close();
  });

  const move = (to: BlobLocation): Promise<Moved> => service.app.get(BlobMover).moveAll(to);
  /** Advances the time for the sweep alone, so that tokens do not expire. */
  const sweepIn = (ms: number): Promise<unknown> =>
    service.app.get(BlobUpkeep).sweep(new Date(service.clock.now().getTime() + ms));
  const store = (location: 'disk' | 's3'): Promise<BlobStore> => service.app.get(BlobStores).at(location);

  interface Held {
    readonly notes: TestWorkspace;
    readonly files: Map<string, Buffer>;
  }

  /** A workspace with a file of each size, uploaded before there was S3. */
  async function workspace(sizes = SIZES): Promise<Held> {
    const notes = await (await onDisk.user(`mover-${++names}`)).workspace();
    const files = new Map<string, Buffer>();
    for (const [n, size] of sizes.entries()) {
      files.set(`f00${n}`, randomBytes(size));
      await notes.put(`f00${n}`, files.get(`f00${n}`)!).expect(201);
    }
    return { notes: notes.as(notes.user.at(service.url)), files };
  }

  async function expectAllReadable({ notes, files }: Held): Promise<void> {
    for (const [path, content] of files) {
      const { body } = await notes.get(path).expect(200);
      expect(content.equals(body as Buffer)).toBe(true);
    }
  }

  async function locations({ notes }: Held): Promise<Record<string, number>> {
    const rows = await service.database.query<{ location: string; count: number }>(
      'SELECT location, count(*)::int FROM blobs WHERE workspace_id = $1 GROUP BY 1 ORDER BY 1',
      [notes.id],
    );
    return Object.fromEntries(rows.map(({ location, count }) => [location, count]));
  }

  const leftovers = async (): Promise<number> =>
    (await service.database.query('SELECT FROM blob_leftovers')).length;
  const pathOf = (key: string): string => {
    const [workspaceId = '', id = ''] = key.split('/');
    return join(onDisk.dataDir, 'blobs', workspaceId, id.slice(-2), id);
  };
  async function keysOf({ notes }: Held): Promise<string[]> {
    const rows = await service.database.query<{ key: string }>(
      `SELECT workspace_id || '/' || id AS key FROM blobs WHERE workspace_id = $1 AND location <> 'inline'`,
      [notes.id],
    );
    return rows.map(({ key }) => key);
  }
  /** Marks a blob like one whose file was deleted. */
  const markForDeletion = (key: string): Promise<unknown> =>
    service.database.query(`UPDATE blobs SET state = 'dying', not_before = $2 WHERE id = $1`, [
      key.split('/')[1],
      new Date(service.clock.now().getTime() + 24 * HOUR),
    ]);
  const isOnDisk = (key: string): Promise<boolean> =>
    access(pathOf(key)).then(
      () => true,
      () => false,
    );

  it('moves large files to S3 and back, keeps them readable, and removes old bytes later', async () => {
    const held = await workspace();
    expect(await locations(held)).toEqual({ disk: 3, inline: 4 });
    await expectAllReadable(held);
    const keys = await keysOf(held);

    expect(await move('s3')).toEqual({ moved: 3, skipped: 0, failed: 0 });
    expect(await locations(held)).toEqual({ inline: 4, s3: 3 });
    await expectAllReadable(held);
    for (const key of keys) expect(await isOnDisk(key)).toBe(true);
    await sweepIn(59 * MINUTE);
    for (const key of keys) expect(await isOnDisk(key)).toBe(true);
    // The old bytes still have the key there, so the blobs are left to the next run.
    expect(await move('disk')).toEqual({ moved: 0, skipped: 3, failed: 0 });

    await sweepIn(61 * MINUTE);
    for (const key of keys) expect(await isOnDisk(key)).toBe(false);
    await expectAllReadable(held);
    expect(await move('disk')).toEqual({ moved: 3, skipped: 0, failed: 0 });
    await sweepIn(61 * MINUTE);
    expect(await bucket.keys()).toEqual([]);
    expect(await leftovers()).toBe(0);
    await expectAllReadable(held);
    expect(await move('disk')).toEqual({ moved: 0, skipped: 0, failed: 0 });
  });

  itDeep('takes small files into the rows, and large ones out of them', async () => {
    const held = await workspace();
    const configuration = service.app.get(Configuration);
    const { inlineBlobBytes } = configuration;
    try {
      configuration.inlineBlobBytes = 300_000;
      expect(await move('inline')).toEqual({ moved: 2, skipped: 0, failed: 0 });
      expect(await locations(held)).toEqual({ disk: 1, inline: 6 });
      await expectAllReadable(held);
      configuration.inlineBlobBytes = 0;
      expect(await move('s3')).toEqual({ moved: 7, skipped: 0, failed: 0 });
      expect(await locations(held)).toEqual({ s3: 7 });
    } finally {
      configuration.inlineBlobBytes = inlineBlobBytes;
    }
    await expectAllReadable(held);
    expect(await move('inline')).toEqual({ moved: 4, skipped: 0, failed: 0 });
    expect(await locations(held)).toEqual({ inline: 4, s3: 3 });
    await expectAllReadable(held);
    await sweepIn(2 * HOUR);
    expect(await leftovers()).toBe(0);
  });

  itDeep('moves each blob once when two run at once', async () => {
    const held = await workspace(Array.from({ length: 30 }, () => 70_000));
    const [one, two] = await Promise.all([move('s3'), move('s3')]);
    expect(one.moved + two.moved).toBe(30);
    expect(one.failed + two.failed).toBe(0);
    await expectAllReadable(held);
    await sweepIn(2 * HOUR);
    expect((await bucket.keys()).length).toBe(30);
  });

  it('leaves a registered copy when it dies half-way, and the next runs do the rest', async () => {
    const held = await workspace([70_000, 70_000]);
    const [first] = await keysOf(held);
    const [workspaceId, id] = first!.split('/');
    await service.database.query(
      `INSERT INTO blob_leftovers (location, workspace_id, id, state, not_before) VALUES ('s3', $1, $2, 'copying', $3)`,
      [workspaceId, id, new Date(service.clock.now().getTime() + HOUR)],
    );
    await bucket.put(first!, randomBytes(100)); // the part that was copied
    expect(await move('s3')).toEqual({ moved: 1, skipped: 1, failed: 0 });
    await expectAllReadable(held);
    await sweepIn(2 * HOUR);
    expect(await bucket.keys()).not.toContain(first);
    expect(await move('s3')).toEqual({ moved: 1, skipped: 0, failed: 0 });
    await expectAllReadable(held);
  });

  itDeep('keeps every blob that a row still names when copies are swept', async () => {
    const held = await workspace([70_000]);
    expect(await move('s3')).toMatchObject({ moved: 1 });
    const [key] = await keysOf(held);
    await service.database.query(
      `WITH named AS (
         INSERT INTO blobs (workspace_id, id, state, location, size, sha256, created_at)
         SELECT $1, gen_random_uuid(), 'live', 'disk', 1, repeat('0', 64), $2 FROM generate_series(1, 201)
         RETURNING location, workspace_id, id
       )
       INSERT INTO blob_leftovers SELECT location, workspace_id, id, 'dying', $2 FROM named`,
      [key!.split('/')[0], service.clock.now()],
    );
    await sweepIn(2 * HOUR);
    expect(await (await store('disk')).sizeOf(key!)).toBeUndefined();
    expect(await leftovers()).toBe(201);
  });

  itDeep('does not use a copy that the sweeper has removed meanwhile', async () => {
    const held = await workspace([70_000]);
    const s3 = await store('s3');
    const put = s3.put.bind(s3);
    s3.put = async (key, chunks) => {
      await put(key, chunks);
      s3.put = put;
      await sweepIn(2 * HOUR); // the copy took that long
    };
    expect(await move('s3')).toEqual({ moved: 0, skipped: 0, failed: 1 }); // the copy could not be read back
    await expectAllReadable(held);

    const read = s3.read.bind(s3);
    s3.read = async (key, size, range) => {
      const bytes = await read(key, size, range);
      s3.read = read;
      await sweepIn(2 * HOUR);
      return bytes;
    };
    const { moved } = await move('s3');
    expect(moved).toBe(0);
    expect(await locations(held)).toEqual({ disk: 1 });
    await expectAllReadable(held);
    await sweepIn(2 * HOUR);
    expect(await bucket.keys()).toEqual([]);
  });

  itDeep('leaves a blob that is deleted while it is copied where it was', async () => {
    const held = await workspace([70_000]);
    const [key] = await keysOf(held);
    const s3 = await store('s3');
    const put = s3.put.bind(s3);
    s3.put = async (copied, chunks) => {
      await put(copied, chunks);
      s3.put = put;
      await markForDeletion(key!);
    };
    expect(await move('s3')).toEqual({ moved: 0, skipped: 1, failed: 0 });
    expect(await locations(held)).toEqual({ disk: 1 });
    await sweepIn(30 * HOUR);
    expect(await bucket.keys()).toEqual([]);
  });

  itDeep('leaves deleted and damaged blobs alone, and reports them', async () => {
    const held = await workspace([70_000, 70_000, 70_000]);
    const [missing, dying] = await keysOf(held);
    await (await store('disk')).delete(missing!);
    await markForDeletion(dying!);
    expect(await move('s3')).toEqual({ moved: 1, skipped: 0, failed: 1 });
    expect(service.logged()).toContain(missing);
    await sweepIn(30 * HOUR);
    expect((await bucket.keys()).length).toBe(1);
  });

  describe('after the database was restored from before a move', () => {
    /** Rows as before the move, and stores as an hour after it: the bytes are at the target alone. */
    async function putBack(to: 'disk' | 's3'): Promise<Held> {
      const held = await workspace([70_000, 70_000]);
      await move('s3');
      await sweepIn(61 * MINUTE);
      if (to === 'disk') await move('disk');
      await sweepIn(61 * MINUTE);
      await service.database.query('UPDATE blobs SET location = $1', [to === 's3' ? 'disk' : 's3']);
      return held;
    }

    /** Writes bytes to the disk, as from a backup of it. */
    async function plant(key: string, bytes: Buffer): Promise<void> {
      await mkdir(dirname(pathOf(key)), { recursive: true });
      await writeFile(pathOf(key), bytes);
    }

    itDeep.each(['s3', 'disk'] as const)('to %s, another run uses the bytes that are there', async (to) => {
      const held = await putBack(to);
      const target = await store(to);
      target.put = () => Promise.reject(new Error('there is nothing to write'));
      expect(await move(to)).toEqual({ moved: 2, skipped: 0, failed: 0 });
      expect(await locations(held)).toEqual({ [to]: 2 });
      await sweepIn(2 * HOUR);
      await expectAllReadable(held);
      expect(await leftovers()).toBe(0);
    });

    itDeep('it does not overwrite intact bytes with damaged ones of the disk', async () => {
      const held = await putBack('s3');
      const [key] = await keysOf(held);
      const bytes = await bucket.bytes(key!);
      bytes[40_000]! ^= 1;
      await plant(key!, bytes);
      expect(await move('s3')).toEqual({ moved: 2, skipped: 0, failed: 0 });
      await sweepIn(2 * HOUR);
      await expectAllReadable(held);
    });

    itDeep('it overwrites nothing and marks nothing for deletion when both are damaged', async () => {
      const held = await putBack('s3');
      const [key] = await keysOf(held);
      const cutOff = (await bucket.bytes(key!)).subarray(0, 60_000);
      await bucket.put(key!, cutOff);
      await plant(key!, randomBytes(70_000));
      expect(await move('s3')).toEqual({ moved: 1, skipped: 0, failed: 1 });
      await sweepIn(2 * HOUR);
      expect(cutOff.equals(await bucket.bytes(key!))).toBe(true);
      expect(await leftovers()).toBe(0);
    });
  });

  describe('a sweeper that pauses for longer than its claim lasts', () => {
    let two: TestService;
    let held: Held;
    beforeEach(async () => {
      two = await startService({ beside: onDisk, env: (await startS3()).env(bucket.name, proxy.url) });
      held = await workspace([70_000]);
      expect(await move('s3')).toMatchObject({ moved: 1 });
    });
    afterEach(() => two.close());

    const sweepOfTwo = (): Promise<unknown> =>
      two.app.get(BlobUpkeep).sweep(new Date(two.clock.now().getTime() + 2 * HOUR));

    /** Pauses the first sweeper once, during a call of the store, while others go on. */
    async function standStill(
      location: 'disk' | 's3',
      call: 'sizeOf' | 'delete',
      meanwhile: () => Promise<unknown>,
    ): Promise<void> {
      const at = await store(location);
      const original = at[call].bind(at) as (key: string) => Promise<never>;
      at[call] = async (key: string) => {
        at[call] = original;
        const answer = await original(key);
        onDisk.clock.advance(11 * MINUTE);
        await meanwhile();
        return answer;
      };
    }

    itDeep('removes nothing after a move has brought the bytes back', async () => {
      await standStill('s3', 'sizeOf', async () => {
        await sweepOfTwo();
        expect(await two.app.get(BlobMover).moveAll('disk')).toMatchObject({ moved: 1 });
      });
      await sweepIn(2 * HOUR);
      expect(await locations(held)).toEqual({ disk: 1 });
      await expectAllReadable(held);
    });

    itDeep('does not release a later claim of another sweeper', async () => {
      const disk = await two.app.get(BlobStores).at('disk');
      const remove = disk.delete.bind(disk);
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => (release = resolve));
      let second: Promise<unknown> | undefined;
      await standStill('s3', 'sizeOf', async () => {
        await new Promise<void>((resolve) => {
          disk.delete = async (key) => {
            resolve();
            await released;
            await remove(key);
          };
          second = sweepOfTwo();
        });
      });
      await sweepIn(2 * HOUR);
      const claimed = 'SELECT FROM blob_leftovers WHERE claimed_until IS NOT NULL';
      expect(await service.database.query(claimed)).toHaveLength(1);
      release();
      await second;
      expect(await leftovers()).toBe(0);
    });

    itDeep('does not remove a copy that was announced meanwhile', async () => {
      const [key] = await keysOf(held);
      const [workspaceId = '', id = ''] = key!.split('/');
      await standStill('disk', 'delete', async () => {
        await sweepOfTwo();
        const copy = { location: 'disk' as const, workspaceId, id };
        expect(await two.app.get(OrphanedCopies).announce(copy)).toBe(true);
      });
      await sweepIn(2 * HOUR);
      expect(await leftovers()).toBe(1);
    });
  });

  itDeep('moves some blobs, loses none and leaves no copy over a failing network', async () => {
    const held = await workspace(Array.from({ length: 12 }, () => 70_000));
    let requests = 0;
    proxy.set(() => {
      const kinds = [
        'reset',
        undefined,
        'cut after sending',
        undefined,
        undefined,
        undefined,
        undefined,
      ] as const;
      const kind = kinds[++requests % kinds.length];
      return kind && { kind };
    });
    const { moved, failed } = await move('s3');
    expect(moved + failed).toBe(12);
    expect(failed).toBeGreaterThan(0);
    proxy.heal();
    await expectAllReadable(held);
    await sweepIn(3 * HOUR);
    await expectAllReadable(held);
    expect(await bucket.keys()).toHaveLength(moved);
    expect(await move('s3')).toEqual({ moved: failed, skipped: 0, failed: 0 });
    await expectAllReadable(held);
    await sweepIn(3 * HOUR);
    expect(await leftovers()).toBe(0);
  });

  itDeep(
    'leaves a service without S3 to answer 503 for blobs in S3, with a warning at its start',
    async () => {
      const held = await workspace([70_000]);
      await move('s3');
      const without = await startService({ beside: onDisk });
      const answer = await held.notes.as(held.notes.user.at(without.url)).get('f000').expect(503);
      expect(String(answer.body)).toBe('{"error":"the blob store cannot read"}');
      expect(answer.headers['retry-after']).toBe('60');
      expect(without.logged()).toContain('S3_ENDPOINT is not set, but some blobs are in an S3 store');
      await without.close();
    },
  );
});
