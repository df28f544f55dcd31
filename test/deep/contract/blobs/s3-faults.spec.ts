import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import {
  BlobMissing,
  OutcomeUnknown,
  StoreUnavailable,
} from '../../../../src/platform/storage/blob-store.js';
import type { S3BlobStore } from '../../../../src/platform/storage/s3/s3-blob-store.js';
import { S3Connection } from '../../../../src/platform/storage/s3/s3-connection.js';
import { eventually } from '../../../kit/eventually.js';
import { type Fault, FaultProxy, type ProxiedRequest, type Weather } from '../../../kit/fault-proxy.js';
import { describeWithTestServers, startS3, type TestS3 } from '../../../kit/s3.js';
import { chunksOf, listed, MIB, newKey, s3UnderTest } from '../../../kit/blob-stores.js';

/** Time limits in ms: for faults in which the store is silent, and for others. The real ones are below. */
const SHORT = { connectMs: 2_000, idleMs: 2_000, callMs: 6_000, cleanUpMs: 2_000, pauseMs: 5 };
const PATIENT = { connectMs: 60_000, idleMs: 60_000, callMs: 120_000, cleanUpMs: 2_000, pauseMs: 5 };
const NO_ANSWER = 180_000;

const SMALL = randomBytes(300_000);
const LARGE = randomBytes(7 * MIB);

const isPut = ({ method, path }: ProxiedRequest): boolean => method === 'PUT' && !path.includes('partNumber');
const isPart = ({ path }: ProxiedRequest): boolean => path.includes('partNumber');
const isStart = ({ method, path }: ProxiedRequest): boolean => method === 'POST' && path.endsWith('?uploads');
const isComplete = ({ method, path }: ProxiedRequest): boolean =>
  method === 'POST' && path.includes('uploadId');
const isAbort = ({ method, path }: ProxiedRequest): boolean =>
  method === 'DELETE' && path.includes('uploadId');
const isHead = ({ method }: ProxiedRequest): boolean => method === 'HEAD';
const isGet = ({ method }: ProxiedRequest): boolean => method === 'GET';

describeWithTestServers('the S3 store behind a network that fails', () => {
  let s3: TestS3;
  let proxy: FaultProxy;
  let store: S3BlobStore;
  /** The same bucket, without the proxy. */
  let direct: S3BlobStore;
  beforeAll(async () => {
    s3 = await startS3();
    proxy = await FaultProxy.before(s3.endpoint);
    const under = await s3UnderTest();
    direct = under.store;
    const { bucket } = direct.connection;
    store = Object.assign(Object.create(Object.getPrototypeOf(direct) as object) as S3BlobStore, direct, {
      connection: new S3Connection({ ...s3, bucket, endpoint: proxy.url }),
    });
  });
  afterAll(async () => {
    store.close();
    direct.close();
    await proxy.close();
  });
  beforeEach(() => Object.assign(store.connection.limits, PATIENT));
  afterEach(() => proxy.heal());

  /** Sets short limits for a fault in which the store is silent. */
  const beShortWith = ({ kind }: Fault): void => {
    if (kind === 'blackhole' || kind === 'late' || kind === 'stall')
      Object.assign(store.connection.limits, SHORT);
  };

  /** The outcome of an upload: 'stored', its error, or 'too long'. */
  const outcomeOf = async (key: string, bytes: Buffer): Promise<unknown> => {
    const tooLong = pause(NO_ANSWER, 'too long', { ref: false });
    const put = store.put(key, chunksOf(bytes)).then(
      () => 'stored',
      (error: unknown) => error,
    );
    return Promise.race([put, tooLong]);
  };

  const always = (is: (request: ProxiedRequest) => boolean, fault: Fault): Weather => {
    beShortWith(fault);
    return (request) => (is(request) ? fault : undefined);
  };

  /** Applies the fault to the first such request alone; later ones may take as long as they need. */
  const first = (is: (request: ProxiedRequest) => boolean, fault: Fault): Weather => {
    let count = 0;
    beShortWith(fault);
    store.connection.limits.callMs = PATIENT.callMs;
    return (request) => {
      if (!is(request) || count++ > 0) return undefined;
      if (fault.kind !== 'stall') Object.assign(store.connection.limits, PATIENT); // stalls follow an answer
      return fault;
    };
  };

  const LOST: [string, Fault][] = [
    ['reset', { kind: 'reset' }],
    ['blackhole', { kind: 'blackhole' }],
    ['500', { kind: 'answer', status: 500, code: 'InternalError' }],
    ['503', { kind: 'answer', status: 503, code: 'SlowDown' }],
    ['503 of a proxy', { kind: 'answer', status: 503 }],
    ['truncated on the way', { kind: 'truncate request' }],
    ['cut after it was sent', { kind: 'cut after sending' }],
    ['answered never, and done late', { kind: 'late', ms: 400 }],
  ];

  describe('an upload of one request', () => {
    it.each(LOST)('has an unknown outcome, is not repeated and removes nothing: %s', async (_, fault) => {
      const key = newKey();
      proxy.set(always(isPut, fault));
      const sent = proxy.requests.length;
      expect(await outcomeOf(key, SMALL)).toBeInstanceOf(OutcomeUnknown);
      // A late upload may still arrive, so nothing is removed.
      expect(proxy.requests.slice(sent).map(({ method }) => method)).toEqual(['PUT']);
      if (fault.kind === 'late' || fault.kind === 'cut after sending')
        await eventually(async () => expect(await direct.sizeOf(key)).toBe(SMALL.length));
      else expect(await direct.sizeOf(key)).toBeUndefined();
    });

    it('succeeds when answers are late, but within their limits', async () => {
      proxy.set(always(() => true, { kind: 'delay', ms: 50 }));
      expect(await outcomeOf(newKey(), SMALL)).toBe('stored');
    });

    it.each([
      ['refused', 403, 'AccessDenied', 60],
      ['no bucket', 404, 'NoSuchBucket', 60],
      ['no room', 403, 'QuotaExceeded', 60],
      ['too slow for the server', 400, 'RequestTimeout', 5],
    ])('with the answer "%s" is certainly not stored', async (_, status, code, retryAfterSeconds) => {
      const key = newKey();
      proxy.set(always(isPut, { kind: 'answer', status, code }));
      const error = await outcomeOf(key, SMALL);
      expect(error).toMatchObject({ retryAfterSeconds, message: `S3: ${code}` });
      expect(error).not.toBeInstanceOf(OutcomeUnknown);
    });

    it('is certainly not stored when the server is unreachable', async () => {
      const gone = await FaultProxy.before(s3.endpoint);
      const { store: lost } = await s3UnderTest(gone.url);
      await gone.close();
      const error = await lost.put(newKey(), chunksOf(SMALL)).catch((reason: unknown) => reason);
      expect(error).toMatchObject({ message: 'S3: ECONNREFUSED', retryAfterSeconds: 5 });
      expect(error).not.toBeInstanceOf(OutcomeUnknown);
      lost.close();
    });

    it.each([
      ['without storing it', always(isPut, { kind: 'swallow', etag: md5(SMALL) })],
      ['with another hash', always(isPut, { kind: 'lie', headers: { etag: `"${md5('other')}"` } })],
      ['and has less of it', always(isHead, { kind: 'lie', headers: { 'content-length': '299999' } })],
    ])('that the server acknowledges %s is detected, and leaves nothing', async (_, weather) => {
      const key = newKey();
      proxy.set(weather);
      const error = await outcomeOf(key, SMALL);
      expect(error).toBeInstanceOf(StoreUnavailable);
      expect(error).not.toBeInstanceOf(OutcomeUnknown);
      expect(await direct.sizeOf(key)).toBeUndefined();
    });

    it('has an unknown outcome when it is stored and cannot be checked', async () => {
      const key = newKey();
      proxy.set((request) => (isPut(request) ? undefined : { kind: 'reset' }));
      expect(await outcomeOf(key, SMALL)).toBeInstanceOf(OutcomeUnknown);
      expect(await direct.sizeOf(key)).toBe(SMALL.length);
    });
  });

  describe('an upload in parts', () => {
    const drafts = (): Promise<number> => direct.clearDrafts(new Date(Date.now() + 60_000));

    describe.each([
      ['its start', isStart],
      ['a part', isPart],
    ])('%s', (__, is) => {
      it.each(LOST.slice(0, -1))('repeats a failed part: %s', async (_, fault) => {
        const key = newKey();
        proxy.set(first(is, fault));
        expect(await outcomeOf(key, LARGE)).toBe('stored');
        expect((await buffer(await direct.read(key, LARGE.length))).equals(LARGE)).toBe(true);
        await eventually(drafts);
      });

      it.each(LOST)(
        'is certainly not stored, and leaves no part, when every try fails: %s',
        async (_, fault) => {
          const key = newKey();
          proxy.set(always(is, fault));
          const error = await outcomeOf(key, LARGE);
          expect(error).toBeInstanceOf(StoreUnavailable);
          expect(error).not.toBeInstanceOf(OutcomeUnknown);
          expect(await direct.sizeOf(key)).toBeUndefined();
          if (is === isPart && fault.kind !== 'late') expect(await drafts()).toBe(0);
          else await drafts();
        },
      );
    });

    it('detects a part that is stored as something else', async () => {
      proxy.set(first(isPart, { kind: 'swallow', etag: md5('other') }));
      expect(await outcomeOf(newKey(), LARGE)).toBeInstanceOf(StoreUnavailable);
      expect(await drafts()).toBe(0);
    });

    it('is not completed when a part that is reported as stored is missing', async () => {
      const key = newKey();
      proxy.set(first(isPart, { kind: 'swallow', etag: md5(LARGE.subarray(0, 5 * MIB)) }));
      expect(await outcomeOf(key, LARGE)).toBeInstanceOf(StoreUnavailable);
      expect(await direct.sizeOf(key)).toBeUndefined();
      expect(await drafts()).toBe(0);
    });

    it.each(LOST)('has an unknown outcome when the last request fails: %s', async (_, fault) => {
      const key = newKey();
      proxy.set(always(isComplete, fault));
      expect(await outcomeOf(key, LARGE)).toBeInstanceOf(OutcomeUnknown);
      if (fault.kind === 'late' || fault.kind === 'cut after sending')
        await eventually(async () => expect(await direct.sizeOf(key)).toBe(LARGE.length));
      expect(await drafts()).toBe(fault.kind === 'late' || fault.kind === 'cut after sending' ? 0 : 1);
    });

    it('that cannot be ended leaves its parts to the sweeper, which keeps fresh ones', async () => {
      proxy.set((request) => (isComplete(request) || isAbort(request) ? { kind: 'reset' } : undefined));
      expect(await outcomeOf(newKey(), LARGE)).toBeInstanceOf(OutcomeUnknown);
      expect(await direct.clearDrafts(new Date(Date.now() - 60_000))).toBe(0);
      expect(await direct.clearDrafts(new Date(Date.now() + 60_000), AbortSignal.abort())).toBe(0);
      expect(await drafts()).toBe(1);
      expect(await drafts()).toBe(0);
    });
  });

  describe('a download', () => {
    let key: string;
    beforeAll(async () => {
      key = newKey();
      await direct.put(key, chunksOf(LARGE));
    });

    const BREAKS: [string, Fault][] = [
      ['reset', { kind: 'reset' }],
      ['blackhole', { kind: 'blackhole' }],
      ['500', { kind: 'answer', status: 500, code: 'InternalError' }],
      ['503', { kind: 'answer', status: 503, code: 'SlowDown' }],
      ['cut after it was sent', { kind: 'cut after sending' }],
      ['truncated', { kind: 'truncate' }],
      ['half-closed', { kind: 'half-close' }],
      ['silent in the middle', { kind: 'stall' }],
    ];

    it.each(BREAKS)('goes on where it stopped: %s', async (_, fault) => {
      proxy.set(first(isGet, fault));
      const range = { start: 100, end: LARGE.length - 101 };
      const body = await buffer(await store.read(key, LARGE.length, range));
      expect(body.equals(LARGE.subarray(100, LARGE.length - 100))).toBe(true);
    });

    it.each(BREAKS)(
      'ends in an error when every try fails, and not as if it were whole: %s',
      async (_, fault) => {
        const rest = always(isGet, fault);
        proxy.set(rest);
        const whole = store.read(key, LARGE.length).then((stream) => buffer(stream));
        if (['truncated', 'half-closed', 'silent in the middle'].includes(_)) {
          // Each answer brings half of the missing bytes, so the download would never end.
          let first = true;
          proxy.set((request) =>
            first ? ((first = false), fault) : isGet(request) ? { kind: 'reset' } : undefined,
          );
        }
        await expect(whole).rejects.toThrow(StoreUnavailable);
      },
    );

    it('ends in an error when no answer brings a byte', async () => {
      proxy.set(always(isGet, { kind: 'truncate', share: 0 }));
      const whole = store.read(key, LARGE.length).then((stream) => buffer(stream));
      await expect(whole).rejects.toThrow(StoreUnavailable);
    });

    it('fails when the object is deleted meanwhile', async () => {
      const changed = newKey();
      await direct.put(changed, chunksOf(LARGE));
      proxy.set(first(isGet, { kind: 'truncate' }));
      const stream = await store.read(changed, LARGE.length);
      await direct.delete(changed);
      await expect(buffer(stream)).rejects.toThrow(BlobMissing);
    });

    it('fails at once when the answer has another length than requested', async () => {
      proxy.set(always(isGet, { kind: 'lie', headers: { 'content-range': `bytes 0-99/${LARGE.length}` } }));
      await expect(store.read(key, LARGE.length)).rejects.toThrow(BlobMissing);
    });

    it('waits for a reader that pauses for longer than the limit of the store', async () => {
      Object.assign(store.connection.limits, SHORT);
      const stream = await store.read(key, LARGE.length);
      const taken = [await someOf(stream)];
      await pause(2 * SHORT.idleMs);
      taken.push(await buffer(stream));
      expect(Buffer.concat(taken).equals(LARGE)).toBe(true);
    });

    it.each(['before it has read anything', 'in the middle'])(
      'closes its connection when the reader gives up %s',
      async (when) => {
        const before = proxy.connections;
        const stream = await store.read(key, LARGE.length);
        expect(proxy.connections).toBeGreaterThanOrEqual(Math.max(before, 1));
        if (when === 'in the middle') await someOf(stream);
        stream.destroy();
        await eventually(() => expect(proxy.connections).toBeLessThanOrEqual(Math.max(before - 1, 0)));
      },
    );
  });

  it('closes a download at once when its reader gives up while the store is silent, and asks for no more', async () => {
    const key = newKey();
    await direct.put(key, chunksOf(LARGE));
    store.connection.limits.idleMs = 3_600_000;
    proxy.set((request) => (isGet(request) ? { kind: 'stall' } : undefined));
    const before = proxy.connections;
    const stream = await store.read(key, LARGE.length);
    const asked = proxy.requests.length;
    let taken = 0;
    let isEnded = false;
    stream.on('data', (chunk: Buffer) => (taken += chunk.length)).on('end', () => (isEnded = true));
    await eventually(() => expect(taken).toBe(Math.ceil(LARGE.length / 2)));
    stream.destroy();
    await once(stream, 'close');
    expect(isEnded).toBe(false); // an end would make the half look like the whole
    await eventually(() => expect(proxy.connections).toBeLessThanOrEqual(Math.max(before - 1, 0)));
    expect(proxy.requests.length).toBe(asked);
  });

  it('neither waits for the store nor asks it again when the reader of a download gives up during the next request', async () => {
    const key = newKey();
    await direct.put(key, chunksOf(LARGE));
    Object.assign(store.connection.limits, { idleMs: 3_600_000, callMs: 3_600_000 });
    const before = proxy.connections;
    let gets = 0;
    proxy.set((request) => {
      if (!isGet(request)) return undefined;
      return gets++ === 0 ? { kind: 'truncate' } : { kind: 'blackhole' };
    });
    const stream = await store.read(key, LARGE.length);
    stream.resume();
    await eventually(() => expect(gets).toBe(2));
    stream.destroy();
    await eventually(() => expect(stream.closed).toBe(true));
    await eventually(() => expect(proxy.connections).toBeLessThanOrEqual(before));
    expect(gets).toBe(2);
  });

  it('the client repeats requests that may be repeated', async () => {
    const key = newKey();
    await direct.put(key, chunksOf(SMALL));
    for (const [, fault] of LOST.filter(([, { kind }]) => kind !== 'truncate request')) {
      let isFirst = true;
      beShortWith(fault);
      proxy.set(() => (isFirst ? ((isFirst = false), fault) : undefined));
      expect(await store.sizeOf(key)).toBe(SMALL.length);
      isFirst = true;
      expect(await listed(store, key.slice(0, 36))).toEqual(new Map([[key, SMALL.length]]));
    }
  });

  it('the client deletes once, because the first request may still be in flight', async () => {
    const key = newKey();
    await direct.put(key, chunksOf(SMALL));
    proxy.set(first(() => true, { kind: 'reset' }));
    const sent = proxy.requests.length;
    await expect(store.delete(key)).rejects.toThrow(StoreUnavailable);
    expect(proxy.requests.slice(sent)).toHaveLength(1);
    await store.delete(key);
    expect(await direct.sizeOf(key)).toBeUndefined();
  });

  it('the client has limits that end a call within half a minute', () => {
    const { connectMs, idleMs, callMs, cleanUpMs } = direct.connection.limits;
    expect(Math.max(connectMs, idleMs, callMs) + cleanUpMs).toBeLessThan(30_000);
  });

  it('the client reveals no credentials in its errors', async () => {
    const wrong = new S3Connection({ ...s3, bucket: direct.connection.bucket, secretKey: 'another-secret' });
    const error = await wrong
      .call((client) => client.listObjectsV2Query(wrong.bucket, '', '', '', 1, ''))
      .then(
        () => undefined,
        (reason: unknown) => reason,
      );
    expect(error).toMatchObject({ code: 'SignatureDoesNotMatch' });
    const shown = inspect(error, { depth: 10 });
    for (const secret of [s3.secretKey, s3.accessKey, 'another-secret', 'AWS4-HMAC', 'Signature='])
      expect(shown).not.toContain(secret);
    wrong.close();
  });
});

async function someOf(stream: Readable): Promise<Buffer> {
  await once(stream, 'readable');
  return stream.read() as Buffer;
}

function md5(bytes: Buffer | string): string {
  return createHash('md5').update(bytes).digest('hex');
}
