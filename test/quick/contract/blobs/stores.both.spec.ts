import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { BlobMissing, type BlobStore } from '../../../../src/platform/storage/blob-store.js';
import { describeWithTestServers } from '../../../kit/s3.js';
import {
  chunksOf,
  diskUnderTest,
  listed,
  MIB,
  newKey,
  s3UnderTest,
  type StoreUnderTest,
} from '../../../kit/blob-stores.js';
import { itDeep } from '../../../kit/rounds.js';

const SOME_ID = '6d1c7f0a-3c52-4c55-9f0e-2f8a0d7c9b11';

describe('the disk store', () => conformance(diskUnderTest));
describeWithTestServers('the S3 store', () => conformance(() => s3UnderTest()));

/** What every store does alike. */
function conformance(open: () => Promise<StoreUnderTest>): void {
  let under: StoreUnderTest;
  let store: BlobStore;
  beforeAll(async () => {
    under = await open();
    ({ store } = under);
  });
  afterAll(() => under.close());

  const put = async (bytes: Buffer, key = newKey()): Promise<string> => {
    await store.put(key, chunksOf(bytes));
    return key;
  };
  const read = async (key: string, size: number, start = 0, end = size - 1): Promise<Buffer> =>
    buffer(await store.read(key, size, { start, end }));

  it.each([
    ['nothing', 0],
    ['a byte', 1],
    ['61 bytes', 61],
    ['300,000 bytes', 300_000],
    ['exactly one part', 5 * MIB],
    ['a byte more than a part', 5 * MIB + 1],
    ['26 MiB', 26 * MIB],
  ])('returns what was stored: %s', async (_, size) => {
    const bytes = randomBytes(size);
    const key = await put(bytes);
    expect((await buffer(await store.read(key, size))).equals(bytes)).toBe(true);
    expect(await store.sizeOf(key)).toBe(size);
  });

  itDeep('stores and returns 100 MiB as a stream', async () => {
    const block = randomBytes(MIB);
    const [sent, came] = [createHash('sha256'), createHash('sha256')];
    const key = newKey();
    await store.put(
      key,
      (async function* () {
        for (let n = 0; n < 100; n++) {
          sent.update(block);
          yield await Promise.resolve(block);
        }
      })(),
    );
    for await (const chunk of await store.read(key, 100 * MIB)) came.update(chunk as Buffer);
    expect(came.digest('hex')).toBe(sent.digest('hex'));
    await store.delete(key);
  });

  it('returns exactly the requested range', async () => {
    const bytes = randomBytes(12 * MIB);
    const key = await put(bytes);
    for (const [start, end] of [
      [0, 0],
      [bytes.length - 1, bytes.length - 1],
      [5 * MIB - 1, 5 * MIB],
      [65_535, 131_073],
      [1, bytes.length - 2],
    ] as const) {
      const range = await read(key, bytes.length, start, end);
      expect(range.equals(bytes.subarray(start, end + 1))).toBe(true);
    }
  });

  it('reports a key without bytes as missing, and deletes it without an error', async () => {
    const key = newKey();
    await expect(store.read(key, 10)).rejects.toThrow(BlobMissing);
    await expect(store.read(key, 0)).rejects.toThrow(BlobMissing);
    await expect(store.read(key, 10, { start: 3, end: 4 })).rejects.toThrow(key);
    expect(await store.sizeOf(key)).toBeUndefined();
    await store.delete(key);
  });

  it('reports a blob with more or fewer bytes than its row has as missing', async () => {
    const key = newKey();
    await under.plant(key, randomBytes(1000));
    for (const size of [0, 999, 1001, 2000]) await expect(store.read(key, size)).rejects.toThrow(BlobMissing);
    for (const size of [999, 1001])
      await expect(store.read(key, size, { start: 0, end: 9 })).rejects.toThrow(BlobMissing);
    await expect(store.read(key, 2000, { start: 1500, end: 1600 })).rejects.toThrow(BlobMissing);
  });

  it.each([0, 1000, 6 * MIB])('keeps nothing of a body that fails after %d bytes', async (size) => {
    const workspace = randomUUID();
    const key = newKey(workspace);
    const broken = async function* (): AsyncGenerator<Buffer> {
      yield* chunksOf(randomBytes(size));
      throw new Error('the client is gone');
    };
    await expect(store.put(key, broken())).rejects.toThrow('the client is gone');
    expect(await store.sizeOf(key)).toBeUndefined();
    expect(await listed(store, workspace)).toEqual(new Map());
    expect(await store.clearDrafts(new Date(Date.now() + 60_000))).toBe(0);
  });

  it('stores many at once', async () => {
    const bodies = Array.from({ length: 24 }, (_, n) => randomBytes(n % 6 === 0 ? 6 * MIB : 50_000 + n));
    const keys = await Promise.all(bodies.map((body) => put(body)));
    const found = await Promise.all(keys.map((key, n) => read(key, bodies[n]!.length)));
    expect(found.every((body, n) => body.equals(bodies[n]!))).toBe(true);
  });

  it('lists all blobs, those of one workspace, and nothing else', async () => {
    const [one, two] = [randomUUID(), randomUUID()];
    const keys = [newKey(one), newKey(one), newKey(two)];
    for (const [n, key] of keys.entries()) await put(randomBytes(n + 1), key);
    await under.plant('notes/of-the-operator.txt', Buffer.from('not ours'));
    const sizes = keys.map((key, n) => [key, n + 1] as const);
    expect(await listed(store, one)).toEqual(new Map(sizes.slice(0, 2)));
    expect(await listed(store, randomUUID())).toEqual(new Map());
    const all = await listed(store);
    expect([...all]).toEqual(expect.arrayContaining(sizes));
    expect([...all.keys()].filter((key) => key.includes('notes'))).toEqual([]);

    await store.delete(keys[0]!);
    expect(await listed(store, one)).toEqual(new Map(sizes.slice(1, 2)));
  });

  it('reports when each blob was written', async () => {
    const key = await put(randomBytes(10));
    for await (const page of store.list(key.slice(0, 36)))
      for (const { modifiedAt } of page)
        expect(Math.abs(Date.now() - modifiedAt.getTime())).toBeLessThan(60_000);
  });

  it.each([
    '',
    'a',
    '../../etc/passwd',
    `${SOME_ID}/../x`,
    `${SOME_ID}/${SOME_ID}/x`,
    `${SOME_ID}/${SOME_ID}\n`,
  ])('refuses an invalid key: "%s"', async (name) => {
    await expect(store.put(name, chunksOf(Buffer.from('x')))).rejects.toThrow('not a blob key');
    await expect(store.read(name, 1)).rejects.toThrow('not a blob key');
    await expect(store.delete(name)).rejects.toThrow('not a blob key');
    await expect(store.sizeOf(name)).rejects.toThrow('not a blob key');
  });
}
