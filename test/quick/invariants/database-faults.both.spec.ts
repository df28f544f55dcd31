import supertest from 'supertest';
import { COMMIT_UPLOADS } from '../../../src/domain/files/index.js';
import { Database } from '../../../src/platform/database/index.js';
import { EventBus } from '../../../src/platform/events/index.js';
import { JobLock } from '../../../src/platform/jobs/nightly-jobs.js';
import { TokenWatch } from '../../../src/domain/realtime/token-watch.js';
import { expectExactUsage } from '../../kit/assets.js';
import { begunBatch, firstGroup, itemsIn, type SentItem, upload, uploadBatch } from '../../kit/batches.js';
import { type DatabaseFault, DatabaseLink } from '../../kit/database-link.js';
import {
  createDatabase,
  eventually,
  startService,
  type TestDatabase,
  type TestService,
  TestSocket,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { type Operation, OPERATIONS } from '../../kit/operations.js';
import { expectDenseLogs, scrub } from '../../kit/oracles.js';
import { describeDeep, firstOf, itDeep } from '../../kit/rounds.js';

/** The default of the service. */
const POOL = 10;

/** Ends a request that hangs: several times the limits of the service. */
const LONGEST_MS = 180_000;

/** Faults that end the connection. */
const BREAKS: DatabaseFault[] = [
  { kind: 'reset' },
  { kind: 'cut after sending' },
  { kind: 'truncate' },
  { kind: 'half-close' },
];

interface Linked {
  readonly database: TestDatabase;
  readonly link: DatabaseLink;
  readonly service: TestService;
  close(): Promise<void>;
}

/** The service with its own limits, and PostgreSQL behind a link. */
async function startLinked(): Promise<Linked> {
  const database = await createDatabase();
  const link = await DatabaseLink.to(database);
  const service = await startService({ env: { DATABASE_URL: link.url, DATABASE_POOL_SIZE: String(POOL) } });
  const close = async (): Promise<void> => {
    await service.close();
    await link.cut();
    await database.drop();
  };
  return { database, link, service, close };
}

let people = 0;
const somebody = (service: TestService): Promise<TestUser> => service.user(`somebody-${++people}`);

const oneOfEach = (service: TestService): Promise<Operation[]> =>
  Promise.all(OPERATIONS.map(async (prepare) => prepare(await somebody(service))));

/** Whether the request is done. If not, the answer must be a flat 503 with Retry-After. */
function isDone(name: string, { status, body, headers }: supertest.Response): boolean {
  if ([200, 201].includes(status)) return true;
  const expected = { name, status: 503, body: { error: expect.any(String) as string } };
  expect({ name, status, body: body as unknown }).toEqual(expected);
  expect(headers['retry-after']).toMatch(/^\d+$/);
  return false;
}

/** An acknowledged operation has happened once, any other at most once, and once after a retry. */
async function expectConverges({ name, ...operation }: Operation, wasDone: boolean): Promise<void> {
  const landed = await operation.landed();
  expect({ name, landed }).toEqual({ name, landed: wasDone || landed === 1 ? 1 : 0 });
  if (landed === 0 || operation.isRepeatable) expect((await operation.send()).status).toBeLessThan(500);
  expect({ name, landed: await operation.landed() }).toEqual({ name, landed: 1 });
}

/** The pool has lost no connection: all become idle and usable, and as many requests are served at once. */
async function expectWholePool({ service }: Linked): Promise<void> {
  const { pool } = service.app.get(Database);
  await eventually(() => {
    expect(pool.waitingCount).toBe(0);
    expect(pool.idleCount).toBe(pool.totalCount);
  });
  const clients = await Promise.all(Array.from({ length: POOL }, () => pool.connect()));
  await Promise.all(clients.map((client) => client.query('SELECT 1')));
  for (const client of clients) client.release();
  const user = await somebody(service);
  const answers = await Promise.all(Array.from({ length: POOL }, () => user.get('/api/v1/workspaces')));
  expect(answers.map(({ status }) => status)).toEqual(Array<number>(POOL).fill(200));
}

async function expectNothingHalf({ service, database }: Linked): Promise<void> {
  await expectDenseLogs(database);
  await expectExactUsage(database);
  await scrub(database, service.dataDir);
  expect(service.logged()).not.toContain('request failed'); // logged with each 500
}

describe('a connection to PostgreSQL that breaks', () => {
  let linked: Linked;
  beforeAll(async () => {
    linked = await startLinked();
  });
  afterAll(() => linked.close());

  it.each(firstOf(2, [...BREAKS, { kind: 'panic' } as const]))(
    'at COMMIT ($kind): 503, complete or absent, and a retry converges',
    async (fault) => {
      const all = await oneOfEach(linked.service);
      linked.link.set((statement) => (all.some(({ commit }) => commit.test(statement)) ? fault : undefined));
      const answers = await Promise.all(all.map(({ send }) => send()));
      linked.link.heal();
      for (const [index, operation] of all.entries()) {
        expect(isDone(operation.name, answers[index]!)).toBe(false);
        const landed = await operation.landed();
        expect({ name: operation.name, landed }).toEqual({
          name: operation.name,
          landed: fault.kind === 'reset' ? 0 : 1,
        });
        await expectConverges(operation, false);
      }
      await expectWholePool(linked);
    },
  );

  it('is not assumed when a COMMIT is only late, which happens once', async () => {
    const all = await oneOfEach(linked.service);
    linked.link.set((statement) =>
      all.some(({ commit }) => commit.test(statement)) ? { kind: 'delay', ms: 500 } : undefined,
    );
    const answers = await Promise.all(all.map(({ send }) => send()));
    linked.link.heal();
    for (const [index, operation] of all.entries()) {
      expect(isDone(operation.name, answers[index]!)).toBe(true);
      await expectConverges(operation, true);
    }
    await expectWholePool(linked);
  });

  itDeep('at any statement of the operations: done or 503, and a retry converges', async () => {
    const { link, service } = linked;
    const met = new Set<string>();
    const meet = async (prepare: (typeof OPERATIONS)[number], fault?: DatabaseFault, where?: string) => {
      const operation = await prepare(await somebody(service));
      const statements: string[] = [];
      link.set((statement) => {
        statements.push(statement);
        return statement === where && statements.indexOf(statement) === statements.length - 1
          ? fault
          : undefined;
      });
      const answer = await operation.send();
      link.heal();
      const name = `${operation.name}: ${fault?.kind} at ${where}`;
      await expectConverges({ ...operation, name }, isDone(name, answer));
      return statements;
    };
    for (const prepare of OPERATIONS) {
      const fresh = (await meet(prepare)).filter((statement) => !met.has(statement));
      for (const statement of new Set(fresh)) {
        met.add(statement);
        await meet(prepare, BREAKS[met.size % BREAKS.length], statement);
      }
    }
    expect(met.size).toBeGreaterThan(15);
    await expectWholePool(linked);
  });

  it.each(firstOf(2, BREAKS))(
    'in the middle of a batch upload ($kind): 503, whole groups in order, and a retry converges',
    async (fault) => {
      const notes = await (await somebody(linked.service)).workspace();
      const rest = Array.from({ length: 100 }, (_, i) => upload(`rest${i}`, `${i}`));
      const finish = await begunBatch(linked.database, notes, rest);
      let n = 0;
      linked.link.set((statement) => (statement.startsWith('files.put') && n++ === 0 ? fault : undefined));
      expect(isDone('batch', await finish())).toBe(false);
      linked.link.heal();
      const log = await notes.log();
      const items = [...firstGroup(), ...rest];
      expect(log.length).toBe(fault.kind === 'reset' ? COMMIT_UPLOADS : 2 * COMMIT_UPLOADS);
      expect(log.map(({ encryptedPath }) => encryptedPath)).toEqual(
        items.slice(0, log.length).map(({ encryptedPath }) => encryptedPath),
      );
      const { body } = await uploadBatch(notes, items).expect(200);
      const results = body.results as { status: number; version: number }[];
      expect(results.map(({ status, version }) => [status, version])).toEqual(
        items.map((_, i) => [i < log.length ? 200 : 201, 1]),
      );
      expect((await notes.status()).cursor).toBe(items.length);
      await expectWholePool(linked);
    },
  );

  it.each(firstOf(2, BREAKS))(
    'in a batch download ($kind): 503, or an answer that is cut off between groups of whole items',
    async (fault) => {
      const notes = await (await somebody(linked.service)).workspace();
      const items = Array.from({ length: 200 }, (_, i) => upload(`note${i}`, `content ${i}`));
      await uploadBatch(notes, items).expect(200);
      for (const at of [0, 1, 2]) {
        let n = 0;
        linked.link.set((statement) =>
          statement.startsWith('batches.heads') && n++ === at ? fault : undefined,
        );
        const { status, bytes, isWhole } = await receivedOf(notes, items);
        linked.link.heal();
        expect([status, isWhole]).toEqual(at === 0 ? [503, true] : [200, false]);
        if (at === 0) continue;
        const received = itemsIn(bytes);
        expect(received.length % COMMIT_UPLOADS).toBe(0);
        expect(received.length).toBeLessThanOrEqual(at * COMMIT_UPLOADS);
        for (const [i, { content }] of received.entries())
          expect(Buffer.from(content!).toString()).toBe(`content ${i}`);
      }
      const { bytes, isWhole } = await receivedOf(notes, items);
      expect([itemsIn(bytes).length, isWhole]).toEqual([items.length, true]);
      await expectWholePool(linked);
    },
  );

  itDeep('at any statement of a sign-in: 503 or a session, never a refusal', async () => {
    const { link, service } = linked;
    jest.spyOn(console, 'error').mockReturnValue(); // the identity handler's library prints some faults there too
    const person = { email: 'fay@example.org', password: 'a long enough password', name: 'Fay' };
    const sent = (path: string): supertest.Test => supertest(service.url).post(path).send(person);
    await sent('/api/auth/sign-up/email').expect(200);
    for (const fault of BREAKS)
      for (let at = 0, isOver = false; !isOver; at++) {
        let n = 0;
        link.set(() => (n++ === at ? fault : undefined));
        isDone(`sign-in: ${fault.kind} at ${at}`, await sent('/api/auth/sign-in/email'));
        link.heal();
        isOver = n <= at;
      }
    jest.restoreAllMocks();
    await sent('/api/auth/sign-in/email').expect(200);
    await expectWholePool(linked);
  });

  it('leaves logs, usage and blobs consistent after all of these tests', () => expectNothingHalf(linked));
});

/** A batch download, as far as it is received. */
async function receivedOf(
  notes: TestWorkspace,
  items: readonly SentItem[],
): Promise<{ status: number; bytes: Buffer; isWhole: boolean }> {
  const answer = await fetch(`${notes.user.url}${notes.path}/files/batch-download`, {
    method: 'POST',
    headers: { authorization: `Bearer ${notes.user.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ items: items.map(({ encryptedPath }) => ({ encryptedPath })) }),
  });
  const chunks: Uint8Array[] = [];
  let isWhole = true;
  try {
    for await (const chunk of answer.body!) chunks.push(chunk);
  } catch {
    isWhole = false;
  }
  return { status: answer.status, bytes: Buffer.concat(chunks), isWhole };
}

describeDeep('a connection to PostgreSQL that falls silent', () => {
  let stories: Record<'commits' | 'all', Promise<void>>;
  const linked: Linked[] = [];
  /** Both take as long as the limits of the service, so they run at the same time. */
  beforeAll(async () => {
    linked.push(await startLinked(), await startLinked());
    stories = { commits: silentCommits(linked[0]!), all: silentConnections(linked[1]!) };
    for (const story of Object.values(stories)) story.catch(() => undefined); // awaited below
  });
  afterAll(() => Promise.all(linked.map(({ close }) => close())));

  it('ends a COMMIT with 503, complete or absent, and a retry converges', () => stories.commits);

  it('ends all requests with 503; readiness reports it, and pool, bus and jobs recover by themselves', () =>
    stories.all);
});

async function silentCommits(linked: Linked): Promise<void> {
  const all = await oneOfEach(linked.service);
  let n = 0;
  linked.link.set((statement) => {
    if (!all.some(({ commit }) => commit.test(statement))) return undefined;
    return { kind: n++ % 2 ? 'blackhole' : 'stall' };
  });
  const answers = await inTime(all);
  linked.link.heal();
  expect(n).toBe(Math.min(all.length, POOL)); // an operation without a connection commits nothing
  for (const [index, operation] of all.entries()) {
    expect(isDone(operation.name, answers[index]!)).toBe(false);
    await expectConverges(operation, false);
  }
  await expectWholePool(linked);
  await expectNothingHalf(linked);
}

async function silentConnections(linked: Linked): Promise<void> {
  const { link, service, database } = linked;
  const other = await startService({ beside: service, env: { DATABASE_URL: database.url } });
  const all = await oneOfEach(service);
  await expectWholePool(linked); // opens all connections, so that all fall silent
  const lock = service.app.get(JobLock, { strict: false });
  const run = (): Promise<string | undefined> =>
    lock.hold(new AbortController().signal, false, async () => {
      await service.app.get(Database).dataSource.query('SELECT 1');
      return 'done';
    });
  expect(await run()).toBe('done');

  let job = 'under way';
  // Waits for the lock: the server releases it a moment after the connection has ended for the service.
  await new Promise<void>((isUnderWay) => {
    const held = lock.hold(new AbortController().signal, true, async () => {
      link.silence();
      isUnderWay();
      await service.app.get(Database).dataSource.query('SELECT 1');
    });
    void held
      .then(
        () => (job = 'done'),
        () => (job = 'failed'),
      )
      .then(() => isUnderWay());
  });
  const pending = inTime(all);
  await eventually(() => supertest(service.url).get('/health/ready').expect(503));
  await supertest(service.url).get('/health').expect(200, { ok: true });
  for (const [index, answer] of (await pending).entries())
    expect(isDone(all[index]!.name, answer)).toBe(false);
  await eventually(() => expect(job).toBe('failed'));

  link.revive();
  await eventually(() => supertest(service.url).get('/health/ready').expect(200));
  for (const operation of all) await expectConverges(operation, false);
  await expectWholePool(linked);
  await expectHears(service, other);
  await expectHears(other, service);
  await link.cut(); // only now the server learns that the holder of the lock is gone
  await link.mend();
  await eventually(async () => expect(await run()).toBe('done'));
  await expectNothingHalf(linked);
  await other.close();
}

async function inTime(all: readonly Operation[]): Promise<supertest.Response[]> {
  return Promise.all(all.map(({ send }) => send().timeout(LONGEST_MS)));
}

/** An event may be lost, so it is published until it is received. */
async function expectHears(one: TestService, from: TestService): Promise<void> {
  const key = `key-${++people}`;
  const heard: string[] = [];
  one.app.get(EventBus).on('test', (told) => heard.push(told));
  await eventually(() => {
    from.app.get(EventBus).publish({ topic: 'test', key });
    expect(heard).toContain(key);
  });
}

describe('while the database is away', () => {
  it('a socket still ends with its token', async () => {
    const { link, service, close } = await startLinked();
    const socket = await TestSocket.join(await (await somebody(service)).workspace(), 'laptop');
    await link.cut();
    service.clock.advance(16 * 60_000);
    await service.app.get(TokenWatch, { strict: false }).closeLapsed();
    expect(await socket.closed()).toBe(4401);
    await link.mend();
    await close();
  });
});
