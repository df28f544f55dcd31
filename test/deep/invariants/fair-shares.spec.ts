import { randomBytes, randomUUID } from 'node:crypto';
import supertest from 'supertest';
import { UploadBodies } from '../../../src/domain/assets/upload-body.js';
import { IndexFeed } from '../../../src/domain/automation/search/index-feed.js';
import { SearchIndexes } from '../../../src/domain/automation/search/search-indexes.js';
import { Search } from '../../../src/domain/automation/search/search.service.js';
import type { Vault } from '../../../src/domain/automation/contents.js';
import { Projections } from '../../../src/domain/checkpoints/index.js';
import { MailDispatcher } from '../../../src/platform/mail/mail-dispatcher.js';
import { BlobUpkeep } from '../../../src/platform/storage/index.js';
import { PushDispatcher } from '../../../src/domain/devices/web-push/push-dispatcher.js';
import { PushQueue } from '../../../src/domain/devices/web-push/push-queue.js';
import { generateVapidKeys } from '../../../src/domain/devices/web-push/web-push.service.js';
import { Database, StatementLimiter } from '../../../src/platform/database/index.js';
import type { FairSemaphore } from '../../../src/platform/limits/index.js';
import { requestScope } from '../../../src/platform/log.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { assetToken, TestAssets } from '../../kit/assets.js';
import { TestVault } from '../../kit/automation.js';
import { writeLog } from '../../kit/histories.js';
import { holdTable } from '../../kit/hold.js';
import {
  eventually,
  startService,
  stopIntervals,
  type TestService,
  type TestUser,
  TestWorkspace,
} from '../../kit/index.js';

const BUSY_WITH_OWN = /: wait for your own requests to finish$/;

let service: TestService;
let hostile: TestUser;
let victim: TestUser;
beforeAll(async () => {
  service = await startService({ env: { DATABASE_POOL_SIZE: '4', LOG_LEVEL: 'silent' } });
  [hostile, victim] = [await service.user('hostile'), await service.user('victim')];
});
afterAll(() => service.close());

const times = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));

/** A private queue of a provider. */
const queueOf = (owner: object, name: string): FairSemaphore =>
  (owner as Readonly<Record<string, FairSemaphore>>)[name]!;

describe('one user with many requests delays another only by work under way:', () => {
  it('projections of a large log', async () => {
    const FILES = 2_000;
    const at = service.clock.now();
    const operations = times(FILES, (file) => ({ file, action: 'upsert' as const, at }));
    const large = async (user: TestUser): Promise<string> => {
      const log = { operations, checkpoints: [FILES / 2] };
      const { workspaceId } = await writeLog(service.database.query, user.id, log);
      const workspace = new TestWorkspace(user, workspaceId);
      return `${workspace.path}/checkpoints/${(await workspace.checkpoints())[0]!.id}`;
    };
    const [theirs, own] = [await large(hostile), await large(victim)];
    const queue = queueOf(service.app.get(Projections, { strict: false }), 'large');
    const release = await queue.take(hostile.id); // as if one of their projections were under way
    let served = 0;
    let refused = 0;
    const answers = times(60, async (i) => {
      const request = hostile.get(`${theirs}/${i % 2 ? 'summary' : 'restore-manifest'}`);
      const { status, body, headers } = await request.ok(() => true);
      if (status === 200) served++;
      else expect([status, headers['retry-after']]).toEqual([503, '5']);
      if (BUSY_WITH_OWN.test((body as { error?: string }).error ?? '')) refused++;
    });
    await eventually(() => expect(queue.queued + refused).toBe(60));
    expect([queue.queued, refused]).toEqual([32, 28]);
    const manifest = victim.get(`${own}/restore-manifest`).expect(200);
    const victims = manifest.then(({ body }) => ({
      entries: (body as { entries: unknown[] }).entries,
      served,
    }));
    await eventually(() => expect(queue.owners).toBe(2));
    release();
    const { entries, served: before } = await victims;
    expect(entries).toHaveLength(FILES);
    expect(before).toBeLessThanOrEqual(1); // an answer that is shorter may overtake the victim's
    await Promise.all(answers);
  });

  it('search indexes of thirty key sessions', async () => {
    const theirs = await TestVault.setUp(await hostile.workspace());
    const own = await TestVault.setUp(await victim.workspace());
    await own.create('note.md', 'needle').expect(201);
    const sessions = await Promise.all(times(30, () => theirs.withNewSession()));
    const feed = service.app.get(IndexFeed, { strict: false });
    const built: string[] = [];
    let goOn = (): void => undefined;
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    const { build } = IndexFeed.prototype;
    const spy = jest.spyOn(feed, 'build').mockImplementation(async (index, keys) => {
      built.push(keys.userId);
      await gate;
      return build.call(feed, index, keys);
    });
    let refused = 0;
    const searches = sessions.map(async (session) => {
      const { status, body } = await session.search('needle').ok(() => true);
      if (status === 503) {
        expect((body as { error: string }).error).toMatch(BUSY_WITH_OWN);
        refused++;
      }
      return status;
    });
    await eventually(() => expect(refused).toBe(21)); // one is running and eight are waiting
    const found = own.found('needle');
    const queue = queueOf(service.app.get(Search, { strict: false }), 'smallBuilds');
    await eventually(() => expect(queue.queued).toBe(9));
    goOn();
    expect(await found).toEqual(['note.md']);
    expect(built.indexOf(victim.id)).toBe(1);
    expect((await Promise.all(searches)).filter((status) => status === 200)).toHaveLength(9);
    spy.mockRestore();
  });

  it('search indexes of large workspaces, which small ones do not wait for', async () => {
    const large = queueOf(service.app.get(Search, { strict: false }), 'largeBuilds');
    const release = await large.take(hostile.id);
    const indexes = service.app.get(SearchIndexes, { strict: false });
    const vault = { sessionId: randomUUID(), accessTokenId: null, workspaceId: randomUUID() };
    const theirs = indexes.of(vault as Vault);
    theirs.isBuilding = true; // and it takes all the memory that indexes may have
    jest.spyOn(theirs.notes, 'bytes', 'get').mockReturnValue(2 * indexes.budget);
    const own = await TestVault.setUp(await victim.workspace());
    await own.create('small.md', 'needle').expect(201);
    expect(await own.found('needle')).toEqual(['small.md']);
    theirs.isBuilding = false;
    release();
  });

  it('pieces of assets', async () => {
    const queue = queueOf(service.app.get(UploadBodies, { strict: false }), 'slots');
    const held = await Promise.all(times(3, () => queue.take(hostile.id)));
    const waiting = times(250, () => queue.take(hostile.id));
    const assets = async (user: TestUser): Promise<TestAssets> => TestAssets.of(await user.workspace());
    await (await assets(victim)).create(assetToken()).expect(201);
    const { body } = await (await assets(hostile)).create(assetToken()).expect(503);
    expect((body as { error: string }).error).toMatch(BUSY_WITH_OWN);
    for (const release of held) release();
    for (const taken of waiting) (await taken)();
    expect([queue.taken, queue.queued, queue.owners]).toEqual([0, 0, 0]);
  });

  it('statements', async () => {
    const notes = await hostile.workspace();
    const own = await victim.workspace();
    const held = await holdTable(service.database, 'files');
    let served = 0;
    const lists = times(60, async () => {
      await hostile.get(`${notes.path}/files`).ok(() => true); // refused when the lock is held for long
      served++;
    });
    const database = service.app.get(Database);
    const { pool } = database;
    const inHand = (): number => database.waiting + pool.totalCount - pool.idleCount;
    await eventually(() => expect(inHand()).toBe(60));
    let before = 60;
    const status = own.status();
    await eventually(() => expect(inHand()).toBe(61));
    await held.release();
    await status.then(() => (before = served));
    await Promise.all(lists);
    // The request has two statements, and each waits for one of the other user on each connection.
    expect(before).toBeLessThan(25);
  });

  it('the purge of deleted workspaces, including those that are resumed at a start', async () => {
    const purge = service.app.get(WorkspacePurge);
    const order: string[] = [];
    let goOn = (): void => undefined;
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    purge.addStep(async (workspaceId) => {
      if (order.at(-1) !== workspaceId) order.push(workspaceId);
      await gate;
      return 0;
    });
    const many = await Promise.all(times(40, () => hostile.workspace()));
    for (const { path } of many) await hostile.delete(path).expect(200);
    const [few, late] = [await victim.workspace(), await victim.workspace()];
    await victim.delete(few.path).expect(200);
    goOn();
    await purge.idle();
    expect(order.indexOf(few.id)).toBeLessThanOrEqual(2);

    const gone = times(1_100, () => randomUUID());
    await service.database.query(
      `INSERT INTO workspaces (id, user_id, name, created_at, updated_at, deleted_at)
       SELECT id, $2, 'x', now(), now(), now() - interval '1 hour' FROM unnest($1::uuid[]) AS id`,
      [gone, hostile.id],
    );
    await service.database.query('UPDATE workspaces SET deleted_at = now() WHERE id = $1', [late.id]);
    order.splice(0);
    await purge.resume();
    await eventually(() => expect(order).toContain(late.id));
    expect(order.indexOf(late.id)).toBeLessThanOrEqual(1);
  });
});

it('work for all users is in the queue of none of them, whichever request starts it', async () => {
  const VAPID = generateVapidKeys();
  const own = await startService({
    env: {
      INLINE_BLOB_BYTES: '100',
      SMTP_URL: 'smtp://127.0.0.1:1',
      MAIL_FROM: 'notes@example.org',
      VAPID_PUBLIC_KEY: VAPID.publicKey,
      VAPID_PRIVATE_KEY: VAPID.privateKey,
      VAPID_SUBJECT: 'mailto:push@example.org',
    },
  });
  try {
    stopIntervals(own);
    const begun: [string, object | undefined][] = [];
    const note = (work: string): void => void begun.push([work, requestScope.getStore()]);
    own.app.get(WorkspacePurge).addStep(() => {
      note('purge');
      return Promise.resolve(0);
    });
    const noted = <T>(object: T, method: keyof T & string, work: string): void => {
      const original = (object[method] as (...args: unknown[]) => unknown).bind(object);
      (object as Record<string, unknown>)[method] = (...args: unknown[]) => {
        note(work);
        return original(...args);
      };
    };
    noted(own.app.get(PushDispatcher), 'startDue', 'pushes');
    noted(own.app.get(MailDispatcher), 'startDue', 'mail');
    noted(own.app.get(BlobUpkeep, { strict: false }), 'sweepBlobs', 'sweep');

    const alice = await own.user('alice');
    const [notes, gone] = [await alice.workspace(), await alice.workspace()];
    await notes.put('a', 'text').expect(201);
    const assets = TestAssets.of(notes);
    const token = assetToken();
    await assets.create(token, randomBytes(200)).expect(201);
    await assets.delete(token).expect(200);
    await alice.delete(gone.path).expect(200);
    await supertest(own.url).post('/api/auth/request-password-reset').send({ email: alice.email });
    await eventually(() =>
      expect(new Set(begun.map(([work]) => work))).toEqual(new Set(['purge', 'pushes', 'mail', 'sweep'])),
    );
    expect(begun.filter(([, request]) => request !== undefined)).toEqual([]);
  } finally {
    await own.close();
  }
});

describe('turns at the database', () => {
  const as = <T>(userId: string, work: () => T): T =>
    requestScope.run({ id: randomUUID(), network: 'network:203.0.113.7', userId }, work);

  /** Statements and transactions of users, which run until ended, and the order in which they began. */
  function held(limiter: StatementLimiter) {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const work = (name: string) => (): Promise<void> => {
      begun.push(name);
      return new Promise((resolve) => ends.push(resolve));
    };
    return {
      begun,
      statement: (name: string) => as(name, () => limiter.run(work(name))),
      transaction: (name: string) => as(name, () => limiter.transaction(work(name))),
      async finishOne(): Promise<void> {
        ends.shift()?.();
        await new Promise(setImmediate);
      },
      async finish(): Promise<void> {
        while (ends.length > 0) await this.finishOne();
      },
    };
  }

  it.each(['statement', 'transaction'] as const)('go round robin between users: %s', async (kind) => {
    const limiter = new StatementLimiter({ atOnce: 1, connections: 1, patienceMs: 60_000 });
    const all = held(limiter);
    const names = ['hostile', 'hostile', 'hostile', 'hostile', 'victim', 'victim'];
    const done = names.map((name) => all[kind](name));
    expect(limiter.waiting).toBe(5);
    await all.finish();
    await Promise.all(done);
    expect(all.begun).toEqual(['hostile', 'hostile', 'victim', 'hostile', 'victim', 'hostile']);
    expect(limiter.waiting).toBe(0);
  });

  it('come to earlier callers although new users keep coming', async () => {
    const limiter = new StatementLimiter({ atOnce: 1, connections: 1, patienceMs: 60_000 });
    const all = held(limiter);
    const done = ['a', 'b', 'b', 'c'].map((name) => all.statement(name));
    await all.finishOne();
    done.push(...['d', 'e'].map((name) => all.statement(name)));
    await all.finish();
    await Promise.all(done);
    expect(all.begun).toEqual(['a', 'b', 'c', 'b', 'd', 'e']);
  });

  it('are not given beyond the connections of the pool, however long statements wait', async () => {
    const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now()); // a timer that fires late does not wait once more
    const limiter = new StatementLimiter({ atOnce: 1, connections: 3, patienceMs: 1 });
    const all = held(limiter);
    const done = ['a', 'b', 'c', 'd', 'e'].map((name) => all.statement(name));
    await eventually(() => expect(all.begun).toEqual(['a', 'b', 'c']));
    done.push(all.transaction('f'));
    expect([all.begun.length, limiter.waiting]).toEqual([3, 3]);
    await all.finish();
    await Promise.all(done);
    expect(limiter.waiting).toBe(0);
    clock.mockRestore();
  });

  it('are never all given to one user', async () => {
    const clock = jest.spyOn(performance, 'now').mockReturnValue(performance.now()); // nobody turns inactive
    const limiter = new StatementLimiter({ atOnce: 5, connections: 10, patienceMs: 1 });
    const all = held(limiter);
    const begun = (name: string): number => all.begun.filter((one) => one === name).length;
    const done = times(8, () => all.statement('a')); // alone
    expect(begun('a')).toBe(4);
    done.push(...times(2, () => all.statement('b')));
    await eventually(() => expect(begun('b')).toBe(2));
    expect(begun('a')).toBe(4); // although it has waited longer than the other
    await all.finishOne();
    await all.finishOne();
    expect(begun('a')).toBe(4); // beside another user it may have two
    await all.finishOne();
    expect(begun('a')).toBe(5);

    done.push(...times(8, () => all.transaction('a')));
    expect(begun('a')).toBe(10);
    done.push(all.transaction('b'));
    expect(begun('b')).toBe(3);
    await all.finish();
    await Promise.all(done);
    clock.mockRestore();
  });

  it('count for the user of the request', async () => {
    const database = service.app.get(Database);
    const run = database.run.bind(database);
    const users: string[] = [];
    const spy = jest.spyOn(database, 'run').mockImplementation((...asked) => {
      users.push(requestScope.getStore()?.userId ?? 'nobody');
      return run(...asked);
    });
    const workspace = await victim.workspace();
    users.splice(0);
    await workspace.status();
    spy.mockRestore();
    expect(new Set(users.filter((user) => user !== 'nobody'))).toEqual(new Set([victim.id]));
  });
});

it('due pushes go first to the owner with the fewest in flight', async () => {
  const due = async (user: TestUser, count: number, at: string): Promise<void> => {
    const { id } = await user.workspace();
    await service.database.query(
      `INSERT INTO push_subscriptions (workspace_id, device_id, endpoint, p256dh, auth, updated_at, pending_changes, due_at)
       SELECT $1, 'device-' || n, 'https://push.example/', repeat('a', 87), repeat('a', 22), now(), true, $3
       FROM generate_series(1, $2::int) n`,
      [id, count, at],
    );
  };
  await due(hostile, 5, '2020-01-01');
  await due(victim, 1, '2020-01-02');
  const queue = service.app.get(PushQueue, { strict: false });
  const owners = async (limit: number, underWay: [string, number][]): Promise<string[]> =>
    (await queue.claim(limit, 4, new Map(underWay))).map(({ ownerId }) => ownerId);
  expect(await owners(1, [[hostile.id, 1]])).toEqual([victim.id]);
  expect(await owners(2, [])).toEqual([hostile.id, hostile.id]);
});
