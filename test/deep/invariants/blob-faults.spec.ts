import { randomBytes } from 'node:crypto';
import type { ProxiedRequest } from '../../kit/fault-proxy.js';
import type { TestWorkspace } from '../../kit/index.js';
import { Random } from '../../kit/random.js';
import { describeWithTestServers } from '../../kit/s3.js';
import { expectNothingLostOrLeft } from '../../kit/stored-blobs.js';
import { NO_ANSWER, SMALL, LARGE, FAULTS, useFaultyStore } from '../../kit/faulty-store.js';

describeWithTestServers('between the service and S3', () => {
  const store = useFaultyStore();

  /** Multiples of SHORT, tried one after the other: a slow machine may not reach the fault within the first. */
  const PATIENCE = [1, 3, 9];

  const AT_ONCE = 6;

  /** The least number of uploads that are acknowledged in the storm. */
  const ENOUGH = 10;

  /** The requests of an upload. */
  const REQUESTS: [string, number, (request: ProxiedRequest) => boolean][] = [
    ['the only request', SMALL, ({ method, path }) => method === 'PUT' && !path.includes('partNumber')],
    ['the check afterwards', SMALL, ({ method }) => method === 'HEAD'],
    ['the start of its parts', LARGE, ({ method, path }) => method === 'POST' && path.endsWith('?uploads')],
    ['a part', LARGE, ({ path }) => path.includes('partNumber=2')],
    ['the end of its parts', LARGE, ({ method, path }) => method === 'POST' && path.includes('uploadId')],
  ];

  let stored = 0;

  /** Each upload has a workspace, whose id is in the names of its objects, so several can fail at a time. */
  it.each(REQUESTS)(
    'an upload that fails at %s is complete, or absent and 503 with Retry-After',
    async (_, size, is) => {
      const troubles = await Promise.all(
        FAULTS.map(async ([name, fault]) => ({
          name,
          fault,
          at: await store.notes.user.workspace(),
          body: randomBytes(size),
          isMet: false,
          answer: undefined as Awaited<ReturnType<TestWorkspace['put']>> | undefined,
        })),
      );
      const unmet = (): typeof troubles => troubles.filter(({ isMet }) => !isMet);
      for (const patience of PATIENCE) {
        store.trouble((request) => {
          const met = troubles.find(({ at }) => request.path.includes(at.id));
          if (!met || !is(request)) return undefined;
          met.isMet = true;
          return met.fault;
        }, patience);
        await inTurns(unmet(), async (one) => {
          one.answer = await one.at.put('YQ', one.body).timeout(NO_ANSWER);
        });
      }
      store.heal();
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
    await store.settled();
    expect(await expectNothingLostOrLeft(store.service.database, store.bucket)).toBe(stored);
    expect(stored).toBeGreaterThan(0);
  });

  // Without a store that claims to have removed what it keeps: only the doctor could find such bytes.
  it('the store loses nothing and leaves nothing in a storm of faults', async () => {
    const random = new Random(20_261_120);
    const acknowledged = new Map<string, Buffer>();
    const writer = async (): Promise<void> => {
      for (let n = 0; n < 6; n++) {
        const path = store.newPath();
        const body = randomBytes(random.next() < 0.2 ? LARGE : SMALL);
        const answer = await store.notes.put(path, body).timeout(NO_ANSWER);
        expect([201, 503]).toContain(answer.status);
        if (answer.status === 201) acknowledged.set(path, body);
      }
    };
    for (const patience of PATIENCE) {
      if (acknowledged.size > ENOUGH) break;
      store.trouble(({ method, path }) => {
        const fault = random.next() < 0.3 ? random.pick(FAULTS)[1] : undefined;
        const removes = method === 'DELETE' && !path.includes('uploadId');
        return removes && fault?.kind === 'swallow' ? undefined : fault;
      }, patience);
      await Promise.all(Array.from({ length: 6 }, writer));
    }
    store.heal();
    for (const [path, body] of acknowledged) {
      const { body: came } = await store.notes.get(path).expect(200);
      expect(body.equals(came as Buffer)).toBe(true);
    }
    await store.settled();
    await expectNothingLostOrLeft(store.service.database, store.bucket);
    expect(acknowledged.size).toBeGreaterThan(ENOUGH);
  }, 1_200_000);

  // each of the writers may wait for six answers, three times

  it('the log contains no credentials', () => {
    expect(store.service.logged()).toContain('the blob store cannot write');
    expect(store.service.logged()).not.toMatch(/test-secret|test-access|AWS4-HMAC|Signature=/);
  });

  /** A few at a time, in order. */
  async function inTurns<T, R>(
    items: readonly T[],
    work: (item: T, index: number) => Promise<R>,
  ): Promise<R[]> {
    const results: R[] = [];
    for (let at = 0; at < items.length; at += AT_ONCE)
      results.push(
        ...(await Promise.all(items.slice(at, at + AT_ONCE).map((item, n) => work(item, at + n)))),
      );
    return results;
  }
});
