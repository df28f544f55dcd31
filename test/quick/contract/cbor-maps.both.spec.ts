import { decodeFirst, encode } from 'cborg';
import fc from 'fast-check';
import { type CborMap, cborMaps, MAX_CONTENT_BYTES } from '../../../src/domain/files/batches/cbor-maps.js';
import { ApiError } from '../../../src/platform/http/index.js';
import { itDeep } from '../../kit/rounds.js';

const KIB = 1024;

interface Read {
  readonly maps: readonly CborMap[];
  /** Status of the refusal; undefined for a sequence that was read to its end. */
  readonly status: number | undefined;
}

async function read(chunks: readonly Buffer[]): Promise<Read> {
  const maps: CborMap[] = [];
  try {
    for await (const map of cborMaps(source(chunks))) maps.push(map);
    return { maps, status: undefined };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { maps, status: error.status };
  }
}

async function* source(chunks: readonly Buffer[]): AsyncGenerator<Buffer, void> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}

/** The same bytes, decoded by another library. */
function decoded(bytes: Uint8Array): CborMap[] {
  const maps: CborMap[] = [];
  for (let rest = bytes; rest.length > 0;) {
    const [map, remainder] = decodeFirst(rest, { useMaps: true }) as [CborMap, Uint8Array];
    maps.push(map);
    rest = remainder;
  }
  return maps;
}

/** Converts maps to a form that tells bytes from texts and compares quickly. */
const plain = (maps: readonly CborMap[]): unknown =>
  maps.map((map) =>
    [...map].map(([key, value]) => [
      key,
      value instanceof Uint8Array ? `h'${Buffer.from(value).toString('base64')}'` : value,
    ]),
  );

function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return places.map((place, i) => bytes.subarray(places[i - 1] ?? 0, place));
}

const SIZES = [0, 1, 23, 24, 255, 256, 5_000, 40_000, 65_536, 130_000];
const BYTES = fc
  .record({ size: fc.constantFrom(...SIZES), fill: fc.nat(255) })
  .map(({ size, fill }) => Buffer.alloc(size, fill));
const VALUE = fc.oneof(
  BYTES.filter(({ length }) => length <= 256),
  fc.string({ unit: 'grapheme' }),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true }),
  fc.constantFrom(true, false, null, '', 'x'.repeat(2_500)),
);
const KEYS = ['encryptedPath', 'contentHash', 'content', 'ifMatch', 'ifNoneMatch', '', 'ключ', '__proto__'];
const ENTRY = fc
  .constantFrom(...KEYS)
  .chain((key) => fc.tuple(fc.constant(key), key === 'content' ? fc.oneof(BYTES, VALUE) : VALUE));
const MAP = fc
  .uniqueArray(ENTRY, { selector: ([key]) => key, maxLength: 6 })
  .map((entries) => new Map<string, unknown>(entries));
const SEQUENCE = fc.array(MAP, { maxLength: 8 });
const CUTS = fc.array(fc.nat(1_000_000), { maxLength: 12 });

const bytesOf = (maps: readonly CborMap[]): Buffer => Buffer.concat(maps.map((map) => encode(map)));

/** Bytes of a sequence, some of which were changed, doubled or removed. */
const DAMAGED = fc
  .tuple(
    SEQUENCE,
    fc.array(
      fc.record({
        at: fc.nat(1_000_000),
        what: fc.constantFrom('change', 'insert', 'remove', 'end'),
        byte: fc.oneof(
          fc.nat(255),
          fc.constantFrom(0x5b, 0x7b, 0xbb, 0x9f, 0xff, 0xa1, 0x81, 0xf7, 0xc0, 0x1b),
        ),
      }),
      { minLength: 1, maxLength: 4 },
    ),
  )
  .map(([maps, faults]) => {
    let bytes = bytesOf(maps);
    for (const { at, what, byte } of faults) {
      // Mostly near the start, because contents are long.
      const place = at % (Math.min(bytes.length, at % 3 === 0 ? Infinity : 200) + 1);
      const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)];
      if (what === 'change') bytes = Buffer.concat([before, Buffer.from([byte]), after.subarray(1)]);
      if (what === 'insert') bytes = Buffer.concat([before, Buffer.from([byte]), after]);
      if (what === 'remove') bytes = Buffer.concat([before, after.subarray(1)]);
      if (what === 'end') bytes = Buffer.from(before);
    }
    return bytes;
  });

const RUNS = { numRuns: 400, seed: 20_261_127 };

describe('a CBOR sequence of maps', () => {
  it('is decoded as by another library, wherever its bytes are split', () =>
    fc.assert(
      fc.asyncProperty(SEQUENCE, CUTS, async (maps, cuts) => {
        const bytes = bytesOf(maps);
        const { maps: found, status } = await read(split(bytes, cuts));
        expect(status).toBeUndefined();
        expect(plain(found)).toEqual(plain(decoded(bytes)));
        expect(found.map((map) => map.size)).toEqual(maps.map((map) => map.size));
      }),
      RUNS,
    ));

  it('is refused or read alike wherever it is split, even when it is damaged', async () => {
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(DAMAGED, CUTS, async (bytes, cuts) => {
        const [whole, pieces] = [await read([bytes]), await read(split(bytes, cuts))];
        expect([plain(pieces.maps), pieces.status]).toEqual([plain(whole.maps), whole.status]);
        if (whole.status === undefined) expect(plain(whole.maps)).toEqual(plain(decoded(bytes)));
        else refused++;
      }),
      RUNS,
    );
    expect(refused).toBeGreaterThan(RUNS.numRuns / 3);
  });

  it('is read, or refused with 400 or 413, when it is random', () =>
    fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), CUTS, async (random, cuts) => {
        const { status } = await read(split(Buffer.from(random), cuts));
        expect([undefined, 400, 413]).toContain(status);
      }),
      { ...RUNS, numRuns: 3_000 },
    ));

  const hex = (text: string): Buffer => Buffer.from(text, 'hex');
  const NESTED = Buffer.alloc(200_000, 0x81);

  it.each([
    ['arrays in arrays', NESTED],
    ['arrays in arrays, as a value', Buffer.concat([hex('a16161'), NESTED])],
    ['maps in maps', Buffer.concat(Array.from({ length: 50_000 }, () => hex('a16161')))],
    ['tags of tags, as a value', Buffer.concat([hex('a16161'), Buffer.alloc(200_000, 0xc0)])],
    ['a map of 4 billion', hex('baffffffff')],
    ['a map of 2^64', hex('bbffffffffffffffff')],
    ['an array of 2^53, as a value', hex('a161619b001fffffffffffff')],
    ['bytes of 2^64', hex('a161615bffffffffffffffff')],
    ['text of 2^64 as a key', hex('a17bffffffffffffffff')],
    ['an indefinite map', hex('bf6161f6ff')],
    ['indefinite bytes', hex('a161615f4101ff')],
    ['undefined', hex('a16161f7')],
    ['a break', hex('a16161ff')],
    ['a number that is not safe', hex('a161611bffffffffffffffff')],
  ])('is refused for %s', async (_, bytes) => {
    expect(await read([bytes])).toEqual({ maps: [], status: 400 });
    expect(await read([...bytes.subarray(0, 2_000)].map((byte) => Buffer.from([byte])))).toEqual({
      maps: [],
      status: 400,
    });
  });

  it.each([
    ['bytes of 2 GiB', hex('a161615a7fffffff')],
    ['a text of 2^53 bytes', hex('a161617b001fffffffffffff')],
    ['a key of 16 MiB', hex('a17a01000000')],
  ])('is refused with 413 when an item has %s, as soon as that is read', async (_, bytes) => {
    expect(await read([bytes])).toEqual({ maps: [], status: 413 });
    let sent = 0;
    async function* endless(): AsyncGenerator<Buffer, void> {
      yield bytes;
      for (; sent < 100; sent++) yield await Promise.resolve(Buffer.alloc(16 * KIB));
    }
    const reading = async (): Promise<void> => {
      for await (const map of cborMaps(endless())) expect(map).toBeUndefined();
    };
    await expect(reading()).rejects.toMatchObject({ status: 413 });
    expect(sent * 16 * KIB).toBeLessThan(128 * KIB);
  });

  itDeep('takes buffers of less than twice its length, even when it comes byte by byte', async () => {
    const content = Buffer.alloc(MAX_CONTENT_BYTES, 7);
    const bytes = bytesOf([
      new Map<string, unknown>([
        ['content', content],
        ['contentHash', 'x'.repeat(64)],
      ]),
    ]);
    const allocated = jest.spyOn(Buffer, 'allocUnsafe');
    const { maps, status } = await read(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)));
    const size = allocated.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
    allocated.mockRestore();
    expect([maps.length, status]).toEqual([1, undefined]);
    expect(size).toBeLessThan(2 * bytes.length);
  });

  it('is refused with 413 when an item has many long texts', async () => {
    const text = 'x'.repeat(100 * KIB);
    const entries = Array.from({ length: 16 }, (_, i): [string, string] => [`key ${i}`, text]);
    const bytes = bytesOf([new Map(entries)]);
    const chunks = Array.from({ length: Math.ceil(bytes.length / KIB) }, (_, i) =>
      bytes.subarray(i * KIB, (i + 1) * KIB),
    );
    expect(await read(chunks)).toEqual({ maps: [], status: 413 });
  });

  it.each([
    ['bytes', Buffer.alloc(17 * KIB)],
    ['a text', 'x'.repeat(17 * KIB)],
  ])('is refused with 413 when an item has %s of 17 KiB besides its content', async (_, value) => {
    const item = new Map<string, unknown>([
      ['content', Buffer.alloc(1)],
      ['more', value],
    ]);
    expect(await read([bytesOf([item])])).toEqual({ maps: [], status: 413 });
  });

  it('may have many tiny items', async () => {
    const tiny = Buffer.alloc(300_000, 0xa0);
    const { maps, status } = await read([tiny]);
    expect([maps.length, status]).toEqual([300_000, undefined]);
  });
});
