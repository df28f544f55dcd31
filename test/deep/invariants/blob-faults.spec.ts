import { randomBytes } from 'node:crypto';
import { BlobStores } from '../../../src/platform/storage/blob-store.js';
import { BlobUpkeep } from '../../../src/platform/storage/index.js';
import type { S3Limits } from '../../../src/platform/storage/s3/s3-connection.js';
import type { S3BlobStore } from '../../../src/platform/storage/s3/s3-blob-store.js';
import { downloaded, upload, uploadBatch } from '../../kit/batches.js';
import { type Fault, FaultProxy, type ProxiedRequest, type Weather } from '../../kit/fault-proxy.js';
import { sha256, startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { Random } from '../../kit/random.js';
import { headOf, openSocket, received } from '../../kit/raw-http.js';
import { describeWithTestServers, startS3 } from '../../kit/s3.js';
import { expectNothingLostOrLeft, TestBucket } from '../../kit/stored-blobs.js';

const MIB = 1024 * 1024;
const HOUR = 60 * 60_000;

/** Time limits in ms, shorter than those of the service, which are less than half a minute in all. */
const SHORT = { connectMs: 1_000, idleMs: 1_000, callMs: 3_000, cleanUpMs: 1_000, pauseMs: 5 };
const PATIENT = { connectMs: 10_000, idleMs: 20_000, callMs: 50_000, cleanUpMs: 1_000, pauseMs: 5 };
const NO_ANSWER = 180_000;

/** Multiples of SHORT, tried one after the other: a slow machine may not reach the fault within the first. */
const PATIENCE = [1, 3, 9];

const AT_ONCE = 6;
/** The least number of uploads that are acknowledged in the storm. */
const ENOUGH = 10;

/** An upload of one request, and one of two parts. */
const SMALL = 100_000;
const LARGE = 5 * MIB + 1000;

/** Faults that take a time limit stand together, because a few run at a time. */
const FAULTS: [string, Fault][] = [
  ['delay', { kind: 'delay', ms: 30 }],
  ['reset', { kind: 'reset' }],
  ['500', { kind: 'answer', status: 500, code: 'InternalError' }],
  ['503', { kind: 'answer', status: 503, code: 'SlowDown' }],
  ['truncated request', { kind: 'truncate request' }],
  ['cut after the request was sent', { kind: 'cut after sending' }],
  ['truncated answer', { kind: 'truncate' }],
  ['half-closed answer', { kind: 'half-close' }],
  ['blackhole', { kind: 'blackhole' }],
  ['done late, never answered', { kind: 'late', ms: 500 }],
  ['answer that stops', { kind: 'stall' }],
  ['said to be done', { kind: 'swallow' }],
];

/** The requests of an upload. */
const REQUESTS: [string, number, (request: ProxiedRequest) => boolean][] = [
  ['the only request', SMALL, ({ method, path }) => method === 'PUT' && !path.includes('partNumber')],
  ['the check afterwards', SMALL, ({ method }) => method === 'HEAD'],
  ['the start of its parts', LARGE, ({ method, path }) => method === 'POST' && path.endsWith('?uploads')],
  ['a part', LARGE, ({ path }) => path.includes('partNumber=2')],
  ['the end of its parts', LARGE, ({ method, path }) => method === 'POST' && path.includes('uploadId')],
];

describeWithTestServers('between the service and S3', () => {
  let service: TestService;
  let proxy: FaultProxy;
  let bucket: TestBucket;
  let notes: TestWorkspace;
  let limits: S3Limits;
  let names = 0;
  let stored = 0;

  beforeAll(async () => {
    const s3 = await startS3();
    proxy = await FaultProxy.before(s3.endpoint);
    bucket = new TestBucket(s3, s3.bucketName());
    service = await startService({ env: s3.env(bucket.name, proxy.url) });
    limits = (service.app.get(BlobStores).main as S3BlobStore).connection.limits;
    notes = await (await service.user('alice')).workspace();
  });
  afterAll(async () => {
    await service.close();
    await proxy.close();
  });
  afterEach(() => heal());

  const trouble = (weather: Weather, patience = 1): void => {
    const { connectMs, idleMs, callMs } = SHORT;
    const longer = { connectMs: patience * connectMs, idleMs: patience * idleMs, callMs: patience * callMs };
    Object.assign(limits, SHORT, longer);
    proxy.set(weather);
  };
  const heal = (): void => {
    Object.assign(limits, PATIENT);
    proxy.heal();
  };

  const newPath = (): string => `p${`${++names}`.padStart(7, '0')}`;
  const settled = async (): Promise<void> => {
    heal();
    await proxy.idle();
    await service.app.get(BlobUpkeep).sweep(later(service));
  };
  /** Each upload has a workspace, whose id is in the names of its objects, so several can fail at a time. */
  it.each(REQUESTS)(
    'an upload that fails at %s is complete, or absent and 503 with Retry-After',
    async (_, size, is) => {
      const troubles = await Promise.all(
        FAULTS.map(async ([name, fault]) => ({
          name,
          fault,
          at: await notes.user.workspace(),
          body: randomBytes(size),
          isMet: false,
          answer: undefined as Awaited<ReturnType<TestWorkspace['put']>> | undefined,
        })),
      );
      const unmet = (): typeof troubles => troubles.filter(({ isMet }) => !isMet);
      for (const patience of PATIENCE) {
        trouble((request) => {
          const met = troubles.find(({ at }) => request.path.includes(at.id));
          if (!met || !is(request)) return undefined;
          met.isMet = true;
          return met.fault;
        }, patience);
        await inTurns(unmet(), async (one) => {
          one.answer = await one.at.put('YQ', one.body).timeout(NO_ANSWER);
        });
      }
      heal();
      expect(unmet().map(({ name }) => name)).toEqual([]);
      await inTurns(troubles, async ({ name, at, body, answer }) => {
        const { status, headers } = answer!;
        if (status === 201) {
          stored += 1;
          const { body: came } = await at.get('YQ').expect(200);
          expect(body.equals(came as Buffer)).toBe(true);
          return;
        }
        const { error } = answer!.body as { error: unknown };
        expect({ name, status, error }).toEqual({ name, status: 503, error: 'the blob store cannot write' });
        expect(headers['retry-after']).toMatch(/^\d+$/);
        await at.get('YQ').expect(404);
        if (size === LARGE) return;
        await at.put('YQ', body).expect(201);
        stored += 1;
      });
    },
  );

  it('the store has lost nothing after these uploads, and a sweep leaves nothing', async () => {
    await settled();
    expect(await expectNothingLostOrLeft(service.database, bucket)).toBe(stored);
    expect(stored).toBeGreaterThan(0);
  });

  describe('a download', () => {
    let path: string;
    let body: Buffer;
    beforeAll(async () => {
      path = newPath();
      body = randomBytes(LARGE);
      await notes.put(path, body).expect(201);
    });

    // A read that is only said to be done has no bytes, so it is not retried: see the next test.
    it.each(FAULTS.slice(0, -1))('hides one fault from the client: %s', async (_, fault) => {
      let met = 0;
      trouble(({ method }) => (method === 'GET' && ++met === 1 ? fault : undefined), 3);
      const { body: came } = await notes.get(path).timeout(NO_ANSWER).expect(200);
      expect(body.equals(came as Buffer)).toBe(true);
    });

    it.each(FAULTS)(
      'ends in an error or a cut when the store stays away, never as a whole answer: %s',
      async (_, fault) => {
        let met = 0;
        trouble(({ method }) => {
          if (method !== 'GET') return undefined;
          return ++met === 1 && fault.kind !== 'delay' ? fault : { kind: 'reset' };
        });
        const answer = await raw(notes, path);
        const [head = '', ...rest] = answer.toString('latin1').split('\r\n\r\n');
        const status = Number(head.split(' ')[1]);
        if (status === 503) expect(head).toMatch(/^retry-after: \d+\r?$/im);
        else if (status === 200) expect(rest.join('\r\n\r\n').length).toBeLessThan(body.length);
        else expect(fault.kind).toBe('swallow'); // missing bytes are not retried
      },
    );
  });

  describe('a batch', () => {
    it.each(FAULTS)(
      'upload with a content that fails is stored whole or not at all: %s',
      async (_, fault) => {
        const at = await notes.user.workspace();
        const bodies = [300, SMALL, SMALL, 0].map((size) => randomBytes(size));
        const items = bodies.map((body, i) => upload(`item${i}`, body));
        let met = 0;
        trouble(({ method, path }) => {
          const isFirst = method === 'PUT' && path.includes(at.id) && ++met === 1;
          return isFirst ? fault : undefined;
        }, 3);
        const { status } = await uploadBatch(at, items).timeout(NO_ANSWER);
        heal();
        expect([200, 503]).toContain(status);
        const count = status === 200 ? items.length : 0;
        expect(await at.status()).toEqual({ cursor: count, fileCount: count });
        await uploadBatch(at, items).expect(200);
        expect((await at.status()).cursor).toBe(items.length);
        const received = await downloaded(
          at,
          items.map((_item, i) => `item${i}`),
        );
        expect(received.map(({ content }) => sha256(Buffer.from(content ?? 'none')))).toEqual(
          bodies.map((body) => sha256(body)),
        );
      },
    );

    it.each(FAULTS)('download has whole contents, without one that cannot be read: %s', async (_, fault) => {
      const at = await notes.user.workspace();
      const bodies = [300, SMALL, SMALL].map((size) => randomBytes(size));
      const items = bodies.map((body, i) => upload(`item${i}`, body));
      await uploadBatch(at, items).expect(200);
      let bad: string | undefined;
      trouble(({ method, path }) => {
        if (method !== 'GET' || !path.includes(at.id)) return undefined;
        bad ??= path;
        return path === bad ? fault : undefined;
      }, 3);
      const received = await downloaded(
        at,
        items.map((_item, i) => `item${i}`),
      );
      heal();
      expect(received.map(({ status }) => status)).toEqual([200, 200, 200]);
      for (const [i, { content }] of received.entries())
        if (content) expect(sha256(Buffer.from(content))).toBe(sha256(bodies[i]!));
      expect(received.filter(({ content }) => content === undefined).length).toBeLessThanOrEqual(1);
    });

    it('has lost nothing in the store, and a sweep leaves nothing', async () => {
      await settled();
      await expectNothingLostOrLeft(service.database, bucket);
    });
  });

  // Without a store that claims to have removed what it keeps: only the doctor could find such bytes.
  it('the store loses nothing and leaves nothing in a storm of faults', async () => {
    const random = new Random(20_261_120);
    const acknowledged = new Map<string, Buffer>();
    const writer = async (): Promise<void> => {
      for (let n = 0; n < 6; n++) {
        const path = newPath();
        const body = randomBytes(random.next() < 0.2 ? LARGE : SMALL);
        const answer = await notes.put(path, body).timeout(NO_ANSWER);
        expect([201, 503]).toContain(answer.status);
        if (answer.status === 201) acknowledged.set(path, body);
      }
    };
    for (const patience of PATIENCE) {
      if (acknowledged.size > ENOUGH) break;
      trouble(({ method, path }) => {
        const fault = random.next() < 0.3 ? random.pick(FAULTS)[1] : undefined;
        const removes = method === 'DELETE' && !path.includes('uploadId');
        return removes && fault?.kind === 'swallow' ? undefined : fault;
      }, patience);
      await Promise.all(Array.from({ length: 6 }, writer));
    }
    heal();
    for (const [path, body] of acknowledged) {
      const { body: came } = await notes.get(path).expect(200);
      expect(body.equals(came as Buffer)).toBe(true);
    }
    await settled();
    await expectNothingLostOrLeft(service.database, bucket);
    expect(acknowledged.size).toBeGreaterThan(ENOUGH);
  }, 1_200_000); // each of the writers may wait for six answers, three times

  it('the log contains no credentials', () => {
    expect(service.logged()).toContain('the blob store cannot write');
    expect(service.logged()).not.toMatch(/test-secret|test-access|AWS4-HMAC|Signature=/);
  });
});

/** A few at a time, in order. */
async function inTurns<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE)
    results.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map((item, n) => work(item, at + n)))));
  return results;
}

function later({ clock }: TestService): Date {
  return new Date(clock.now().getTime() + 2 * HOUR);
}

/** Reads until the connection ends. */
function raw(notes: TestWorkspace, path: string): Promise<Buffer> {
  const socket = openSocket(notes.user.url);
  const Authorization = `Bearer ${notes.user.token}`;
  socket.write(headOf('GET', notes.file(path), { Host: 'x', Authorization, Connection: 'close' }));
  return received(socket);
}
