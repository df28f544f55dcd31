import { EventEmitter, once } from 'node:events';
import type { Redis } from 'ioredis';
import pg from 'pg';
import { GroupCommitQueue } from '../../../src/domain/files/group-commit-queue.js';
import { Database } from '../../../src/platform/database/index.js';
import { EventBus } from '../../../src/platform/events/index.js';
import { EventCarrier } from '../../../src/platform/events/event-bus.js';
import { REDIS } from '../../../src/platform/redis.js';
import { Heartbeat } from '../../../src/domain/realtime/socket-adapter.js';
import { Presence } from '../../../src/domain/realtime/presence.js';
import { RoomReconciler } from '../../../src/domain/realtime/room-reconciler.js';
import { Rooms } from '../../../src/domain/realtime/rooms.js';
import { TokenWatch } from '../../../src/domain/realtime/token-watch.js';
import { ChangeLogReader } from '../../../src/domain/sync/index.js';
import { CHANGES } from '../../../src/domain/workspaces/index.js';
import { TestAssets } from '../../kit/assets.js';
import {
  eventually,
  holdRow,
  type PulledChange,
  startService,
  stopIntervals,
  TestSocket,
  type TestService,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { startProcess } from '../../kit/process.js';
import { describeWithTestServers, startRedis, type TestRedis } from '../../kit/redis.js';
import { itDeep, rounds } from '../../kit/rounds.js';

const WRITES = rounds(200, 2_000);
const CUTS = rounds(2, 10);

let redis: TestRedis | undefined;
let here: TestService;
let there: TestService;
let alice: TestUser;
let workspace: TestWorkspace;
const sockets: TestSocket[] = [];

async function start(env: Record<string, string>): Promise<void> {
  here = await startService({ env });
  there = await startService({ env, beside: here });
  alice = await here.user('alice');
}

beforeEach(async () => {
  workspace = await alice.workspace();
});

afterEach(async () => {
  await Promise.all(sockets.splice(0).map((socket) => socket.close()));
});

async function stop(): Promise<void> {
  await there.close();
  await here.close();
}

async function join(service: TestService, deviceId: string): Promise<TestSocket> {
  const socket = await TestSocket.join(workspace.as(alice.at(service.url)), deviceId);
  sockets.push(socket);
  return socket;
}

/** Drops all events while writes succeed, so that only reconciliation finds them. @returns what undoes it */
function deafen(service: TestService): () => void {
  const carrier = service.app.get(EventCarrier, { strict: false });
  const bus = service.app.get(EventBus, { strict: false });
  const deaf = [jest.spyOn(carrier, 'send'), jest.spyOn(bus, 'publish')];
  for (const spy of deaf) spy.mockImplementation(() => undefined);
  return () => deaf.forEach((spy) => spy.mockRestore());
}

const listenersOf = `application_name = 'cloud-sync-service listen' AND datname = current_database()`;

function tests(cut: () => Promise<void>): void {
  it('a change written through one instance reaches the sockets of the other', async () => {
    const [near, far] = [await join(here, 'near'), await join(there, 'far')];
    await workspace.put('a', 'one', 'laptop').expect(201);
    for (const socket of [near, far]) expect(await socket.frame('changes')).toMatchObject({ cursor: 1 });
    await workspace.as(alice.at(there.url)).put('b', 'two', 'laptop').expect(201);
    for (const socket of [near, far]) expect(await socket.frame('changes', 1)).toMatchObject({ cursor: 2 });
  });

  it(`none of ${WRITES} writes is missed or repeated while the link is cut ${CUTS} times`, async () => {
    const listeners = [await join(here, 'near'), await join(there, 'far'), await join(there, 'writer-1')];
    let written = 0;
    const cuts: Promise<void>[] = [];
    const write = async (writer: number): Promise<void> => {
      const own = workspace.as(alice.at(writer % 2 ? here.url : there.url));
      while (written < WRITES) {
        const index = written++;
        if (index % (WRITES / CUTS) === WRITES / CUTS / 2) cuts.push(cut());
        await own.put(`note-${index % 300}`, `${index}`, `writer-${writer}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)));
    await Promise.all(cuts);
    expect(cuts).toHaveLength(CUTS);

    const log = await workspace.log();
    expect(log).toHaveLength(WRITES);
    for (const [index, socket] of listeners.entries()) {
      const own = index === 2 ? 'writer-1' : undefined;
      const expected = log.filter(({ changedByDevice }) => changedByDevice !== own);
      await eventually(() => expect(toldBy(socket).length).toBeGreaterThanOrEqual(expected.length));
      await socket.settled();
      expect(toldBy(socket)).toEqual(expected.map(wire));
      expect(ascends(socket.of('changes').map((frame) => frame['cursor'] as number))).toBe(true);
    }
  });

  it('devices of both instances see each other connect and disconnect', async () => {
    const near = await join(here, 'near');
    const far = await join(there, 'far');
    expect(far.of('welcome')).toMatchObject([{ deviceCount: 2 }]);
    expect(await near.frame('device_connected')).toMatchObject({ deviceId: 'far' });
    const again = await join(there, 'near');
    expect(again.of('welcome')).toMatchObject([{ deviceCount: 2 }]);
    await far.close();
    for (const socket of [near, again]) {
      expect(await socket.frame('device_disconnected')).toMatchObject({ deviceId: 'far' });
    }
    await near.close();
    const third = await join(here, 'third');
    expect(third.of('welcome')).toMatchObject([{ deviceCount: 2 }]);
    expect(again.of('device_disconnected')).toHaveLength(1);
  });

  it('a revoked token and a deleted workspace end the sockets of the other instance', async () => {
    const { body } = await alice.post('/api/v1/auth/tokens').send({ name: 'cli' }).expect(201);
    const revoked = await TestSocket.open(there.url, workspace.id, body.token);
    const stays = await join(there, 'stays');
    await alice.delete(`/api/v1/auth/tokens/${body.id}`).expect(200);
    expect(await revoked.closed()).toBe(4401);
    await stays.settled();
    await alice.delete(workspace.path).expect(200);
    expect(await stays.closed()).toBe(4404);
    expect(stays.of('error')).toMatchObject([{ code: 'workspace_not_found' }]);
  });
}

describe('two instances on one PostgreSQL', () => {
  beforeAll(() => start({}));
  afterAll(stop);

  tests(async () => {
    await here.database.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${listenersOf}`);
  });

  it('a change that is committed while no event arrives is announced at reconciliation', async () => {
    const [near, far] = [await join(here, 'near'), await join(there, 'far')];
    const undeafen = deafen(here);
    try {
      await workspace.put('a', 'one', 'laptop').expect(201);
      await workspace.put('b', 'two', 'laptop').expect(201);
      for (const service of [here, there]) await service.app.get(RoomReconciler, { strict: false }).now();
      for (const socket of [near, far]) {
        await eventually(() => expect(lastCursor(socket)).toBe(2));
        expect(toldBy(socket)).toHaveLength(2);
      }
    } finally {
      undeafen();
    }
  });

  describe('an instance that announces its own commits', () => {
    let third: TestService;
    let near: TestSocket;
    let reads: jest.SpiedFunction<ChangeLogReader['pull']>;
    let pull: ChangeLogReader['pull'];
    beforeEach(async () => {
      third = await startService({ beside: here });
      stopIntervals(third);
      near = await join(third, 'near');
      const reader = third.app.get(ChangeLogReader, { strict: false });
      pull = reader.pull.bind(reader);
      reads = jest.spyOn(reader, 'pull');
    });
    afterEach(() => third.close());

    async function putThere(path: string): Promise<void> {
      await workspace.as(alice.at(third.url)).put(path, path, 'laptop').expect(201);
    }

    /** Begins a reconciliation that has read the log, or is about to. @returns what lets it go on */
    async function holdLook({ hasRead }: { hasRead: boolean }): Promise<() => void> {
      const gate = new EventEmitter();
      const [begun, goesOn] = [once(gate, 'begun'), once(gate, 'go')];
      reads.mockImplementationOnce(async (...asked) => {
        const page = hasRead ? await pull(...asked) : undefined;
        gate.emit('begun');
        await goesOn;
        return page ?? pull(...asked);
      });
      third.app.get(EventBus, { strict: false }).publish({ topic: CHANGES, key: workspace.id });
      await begun;
      return () => void gate.emit('go');
    }

    async function expectToldLike(log: PulledChange[]): Promise<void> {
      await eventually(() => expect(lastCursor(near)).toBe(log.length));
      await near.settled();
      expect(toldBy(near)).toEqual(log.map(wire));
    }

    it('does not read the log for uploads; those of one commit share a message', async () => {
      const paths = Array.from({ length: 8 }, (_, i) => `p${i}`);
      const { waiting, release } = await holdRow(here.database, 'workspaces', 'id', workspace.id);
      const answers = Promise.all(paths.map(putThere));
      try {
        await waiting(1);
        const queue = third.app.get(GroupCommitQueue, { strict: false });
        await eventually(() => expect(queue.waiting).toBe(paths.length - 1));
      } finally {
        await release();
        await answers;
      }
      await expectToldLike(await workspace.log());
      expect(near.of('changes').length).toBeLessThanOrEqual(2);
      expect(reads).not.toHaveBeenCalled();
    });

    it('reads the log once after another instance has committed without an event', async () => {
      await unheard(there, 'a');
      for (const path of ['b', 'c', 'd']) {
        await putThere(path);
        await expectToldLike(await workspace.log());
      }
      expect(reads).toHaveBeenCalledTimes(1);
    });

    it.each([
      ['has read', { hasRead: true }, 2],
      ['is about to read', { hasRead: false }, 1],
    ])('announces all commits once and in order while it %s the log', async (_, look, readsInAll) => {
      const goOn = await holdLook(look);
      await putThere('a');
      await unheard(there, 'b');
      await putThere('c');
      goOn();
      await expectToldLike(await workspace.log());
      await putThere('d');
      await expectToldLike(await workspace.log());
      expect(reads).toHaveBeenCalledTimes(readsInAll);
    });

    itDeep(
      'announces all changes committed during a long read of the log, even more than it keeps',
      async () => {
        const goOn = await holdLook({ hasRead: true });
        for (let round = 0; round < 11; round++)
          await Promise.all(Array.from({ length: 100 }, (_, i) => putThere(`p${round}-${i}`)));
        goOn();
        await expectToldLike(await workspace.log());
      },
    );

    it('repeats a read of the log that has failed', async () => {
      const bus = third.app.get(EventBus, { strict: false });
      reads.mockRejectedValueOnce(new Error('the database is away'));
      bus.on(CHANGES, (key, _origin, committed) => {
        if (key === workspace.id && committed) bus.publish({ topic: CHANGES, key });
      });
      await putThere('a');
      await expectToldLike(await workspace.log());
    });

    it.each([false, true])(
      'closes all sockets when an upload shows that the log has gone back (while it reads the log: %s)',
      async (isLooking) => {
        for (const path of ['a', 'b', 'c']) await putThere(path);
        await expectToldLike(await workspace.log());
        const goOn = isLooking ? await holdLook({ hasRead: true }) : undefined;
        await goBack();
        await putThere('d');
        goOn?.();
        expect(await near.closed()).toBe(1013);
      },
    );
  });

  it('a change of assets without an event is announced once, by the next reconciliation', async () => {
    const far = await join(there, 'far');
    const silent = await TestSocket.open(there.url, workspace.id, alice.token);
    sockets.push(silent);
    const undeafen = deafen(here);
    try {
      await TestAssets.of(workspace).create('a').expect(201);
      for (let looks = 0; looks < 2; looks++) await there.app.get(RoomReconciler, { strict: false }).now();
      for (const socket of [far, silent]) {
        await socket.settled();
        expect(socket.of('assets-changed')).toHaveLength(1);
      }
    } finally {
      undeafen();
    }
  });

  it('a device that joins while no event arrives is welcomed with the newest cursor', async () => {
    await join(there, 'first');
    const undeafen = deafen(here);
    try {
      await workspace.put('a', 'one', 'laptop').expect(201);
      await workspace.put('b', 'two', 'laptop').expect(201);
      expect((await join(there, 'second')).of('welcome')).toMatchObject([{ cursor: 2 }]);
    } finally {
      undeafen();
    }
  });

  it('a revoked token and a deleted workspace end sockets even without an event', async () => {
    const { body } = await alice.post('/api/v1/auth/tokens').send({ name: 'cli' }).expect(201);
    const revoked = await TestSocket.open(there.url, workspace.id, body.token);
    const stays = await join(there, 'stays');
    const undeafen = deafen(here);
    try {
      await alice.delete(`/api/v1/auth/tokens/${body.id}`).expect(200);
      await there.app.get(TokenWatch, { strict: false }).closeLapsed();
      expect(await revoked.closed()).toBe(4401);
      await alice.delete(workspace.path).expect(200);
      await there.app.get(RoomReconciler, { strict: false }).now();
      expect(await stays.closed()).toBe(4404);
    } finally {
      undeafen();
    }
  });

  it('an event of a write that is rolled back announces nothing', async () => {
    const far = await join(there, 'far');
    await workspace.put('a', 'one', 'laptop').expect(201);
    await far.frame('changes');
    const client = new pg.Client(here.database.url);
    await client.connect();
    await client.query('BEGIN');
    await client.query('UPDATE workspaces SET head_cursor = head_cursor + 1 WHERE id = $1', [workspace.id]);
    await client.query(
      `INSERT INTO changes (workspace_id, cursor, file_id, action, content_hash, encrypted_size, version, changed_at)
       SELECT workspace_id, 2, id, 'upsert', content_hash, 1, 2, updated_at FROM files WHERE workspace_id = $1`,
      [workspace.id],
    );
    here.app.get(EventBus, { strict: false }).publish({ topic: CHANGES, key: workspace.id });
    await there.app.get(RoomReconciler, { strict: false }).now();
    await client.query('ROLLBACK');
    await client.end();
    await there.app.get(RoomReconciler, { strict: false }).now();
    await workspace.put('b', 'two', 'laptop').expect(201);
    await eventually(() => expect(lastCursor(far)).toBe(2));
    expect(toldBy(far).map(({ encryptedPath }) => encryptedPath)).toEqual(['a', 'b']);
  });

  itDeep('devices of a killed instance are gone when its lease ends', async () => {
    const near = await join(here, 'near');
    const doomed = await startProcess({ DATA_DIR: here.dataDir, DATABASE_URL: here.database.url });
    const lost = await TestSocket.join(workspace.as(alice.at(doomed.url)), 'lost');
    expect(lost.of('welcome')).toMatchObject([{ deviceCount: 2 }]);
    await near.frame('device_connected');
    await doomed.end('SIGKILL');
    const [{ lease }] = (await here.database.query<{ lease: number }>(
      `SELECT extract(epoch FROM max(alive_until) - statement_timestamp())::float8 AS lease
       FROM instances JOIN presence ON instance_id = id WHERE device_id = 'lost'`,
    )) as [{ lease: number }];
    expect(lease).toBeLessThanOrEqual(20); // and other instances check every 3 s
    expect(near.of('device_disconnected')).toEqual([]);
    await here.database.query(
      `UPDATE instances SET alive_until = statement_timestamp()
       WHERE id IN (SELECT instance_id FROM presence WHERE device_id = 'lost')`,
    );
    await here.app.get(RoomReconciler, { strict: false }).now();
    expect(await near.frame('device_disconnected')).toMatchObject({ deviceId: 'lost' });
    expect((await join(there, 'far')).of('welcome')).toMatchObject([{ deviceCount: 2 }]);
  });

  it('an instance keeps its lease without sockets, so the next device gets no push', async () => {
    const first = await join(there, 'first');
    await here.database.query(
      `UPDATE instances SET alive_until = alive_until - interval '21 seconds'
       WHERE id IN (SELECT instance_id FROM presence WHERE device_id = 'first')`,
    );
    await first.close();
    await eventually(() => expect(there.app.get(Rooms, { strict: false }).all()).toEqual([]));
    await there.app.get(Heartbeat, { strict: false }).beat();
    await join(there, 'phone');
    expect((await join(here, 'laptop')).of('welcome')).toMatchObject([{ deviceCount: 2 }]);
    const presence = here.app.get(Presence, { strict: false });
    expect(await presence.presentAmong(workspace.id, ['phone', 'watch'])).toEqual(new Set(['phone']));
  });

  it('an instance has a lease from its start to its end, even with a renewal in flight', async () => {
    const before = await leases();
    const third = await startService({ beside: here });
    expect((await leases()) - before).toBe(1);
    stopIntervals(third);
    const presence = third.app.get(Presence, { strict: false });
    const renewal = holdRenewal(third);
    const renewed = presence.renewLease();
    await renewal.begun;
    const ended = presence.endLease();
    await renewal.goOn();
    await Promise.all([renewed, ended]);
    expect((await leases()) - before).toBe(0);
    await presence.set(workspace.id, ['late']);
    await third.app.get(Heartbeat, { strict: false }).beat();
    expect((await leases()) - before).toBe(0);
    await third.close();
  });

  it.each(['set', 'elsewhere'] as const)(
    'a device that leaves while the database is away is gone once it is back, and so is its room (%s)',
    async (step) => {
      const near = await join(here, 'near');
      const ghost = await TestSocket.join(workspace.as(alice.at(there.url)), 'ghost');
      await near.frame('device_connected');
      await workspace.put('a', 'one', 'laptop').expect(201);
      await ghost.frame('changes'); // and so the event of `near`, which was sent before, has come as well
      const away = jest
        .spyOn(there.app.get(Presence, { strict: false }), step)
        .mockRejectedValueOnce(new Error('the database is away'));
      await ghost.close();
      await eventually(() => expect(away).toHaveBeenCalled());
      away.mockRestore();
      await there.app.get(Heartbeat, { strict: false }).beat();
      expect(await near.frame('device_disconnected')).toMatchObject({ deviceId: 'ghost' });
      await eventually(() =>
        expect(there.app.get(Rooms, { strict: false }).get(workspace.id)).toBeUndefined(),
      );
    },
  );

  it('an instance that was taken for dead writes all its rooms again, even when a hello comes first', async () => {
    const near = await join(here, 'near');
    const far = await join(there, 'far');
    await near.frame('device_connected');
    const elsewhere = await alice.workspace();
    const late = await whileTakenForDead(async () => {
      await near.frame('device_disconnected');
      return TestSocket.join(elsewhere.as(alice.at(there.url)), 'late');
    });
    await there.app.get(Heartbeat, { strict: false }).beat();
    expect(await near.frame('device_connected', 1)).toMatchObject({ deviceId: 'far' });
    await late.close();
    await far.settled();
  });

  it('a log that has gone back closes all sockets, which are welcomed with the new cursor', async () => {
    for (const path of ['a', 'b', 'c']) await workspace.put(path, path).expect(201);
    const far = await join(there, 'far');
    await goBack();
    await there.app.get(RoomReconciler, { strict: false }).now();
    expect(await far.closed()).toBe(1013);
    const again = await join(there, 'far');
    expect(again.of('welcome')).toMatchObject([{ cursor: 1 }]);
    await workspace.pull(3).expect(409);
  });

  it('an instance that was taken for dead returns with its devices', async () => {
    const [near, far] = [await join(here, 'near'), await join(there, 'far')];
    await near.frame('device_connected');
    await whileTakenForDead(() => near.frame('device_disconnected'));
    await there.app.get(Heartbeat, { strict: false }).beat();
    expect(await near.frame('device_connected', 1)).toMatchObject({ deviceId: 'far' });
    await far.settled();
    expect(far.of('device_disconnected')).toEqual([]);
  });
});

describeWithTestServers('two instances on one Redis', () => {
  beforeAll(async () => {
    redis = await startRedis();
    await start({ REDIS_URL: redis.url });
  });
  afterAll(async () => {
    await stop();
    await redis?.stop();
  });

  tests(() => redis!.restart());

  itDeep('the service as released sends and receives events through it', async () => {
    const env = { REDIS_URL: redis!.url };
    const listener = await startService({ env, beside: here });
    stopIntervals(listener); // it does not reconcile by itself
    const { dataDir, database } = here;
    const before = await subscribers();
    const released = await startProcess({ ...env, DATA_DIR: dataDir, DATABASE_URL: database.url });
    try {
      await eventually(async () => expect(await subscribers()).toBe(before + 1));
      const near = await join(listener, 'near');
      const far = await TestSocket.join(workspace.as(alice.at(released.url)), 'far');
      await near.frame('device_connected');
      await workspace.as(alice.at(released.url)).put('a', 'one', 'laptop').expect(201);
      for (const socket of [near, far]) expect(await socket.frame('changes')).toMatchObject({ cursor: 1 });
      await far.close();
    } finally {
      expect(await released.end('SIGTERM')).toEqual({ code: 0, signal: null });
      await listener.close();
    }
  });

  itDeep('both count the hits of a limit together, even while Redis is away', async () => {
    const limits = { REDIS_URL: redis!.url, RATE_LIMIT_PER_MINUTE: '1200' };
    const one = await startService({ env: limits });
    const two = await startService({ env: limits, beside: one });
    one.clock.stopAt(new Date('2027-01-01T00:00:00Z'));
    const eve = await one.newcomer('eve');
    const mint = (url: string): Promise<number> =>
      eve
        .at(url)
        .post('/api/v1/auth/tokens')
        .send({ name: 'cli' })
        .then(({ status }) => status);
    const minted = [];
    for (let i = 0; i < 22; i++) minted.push(await mint(i % 2 ? one.url : two.url));
    expect(minted.filter((status) => status === 201)).toHaveLength(20);
    expect(minted.slice(20)).toEqual([429, 429]);

    one.clock.advance(60_000);
    await redis!.kill();
    const without = [];
    for (let i = 0; i < 22; i++) without.push(await mint(i % 2 ? one.url : two.url));
    expect(without.filter((status) => status === 201)).toHaveLength(20);
    await redis!.restart();
    for (const service of [one, two, here, there]) {
      await eventually(() => expect(service.app.get<{ status: string }>(REDIS).status).toBe('ready'));
    }
    await two.close();
    await one.close();
  });
});

/** The number of instances that receive events through Redis. */
async function subscribers(): Promise<number> {
  const [, count] = (await here.app.get<Redis>(REDIS).pubsub('NUMSUB', 'cloud-sync:events')) as [
    string,
    number,
  ];
  return count;
}

async function leases(): Promise<number> {
  return (await here.database.query('SELECT FROM instances WHERE alive_until > statement_timestamp()'))
    .length;
}

/** Acts after the instance of the device `far` was taken for dead, and before its next heartbeat. */
async function whileTakenForDead<T>(act: () => Promise<T>): Promise<T> {
  const heartbeat = there.app.get(Heartbeat, { strict: false });
  const presence = there.app.get(Presence, { strict: false });
  Object.assign(heartbeat, { presence: { renewLease: () => Promise.resolve(), takeForgotten: () => false } });
  await presence.renewLease(); // no renewal is under way any more
  try {
    await here.database.query(
      `DELETE FROM instances WHERE id IN (SELECT instance_id FROM presence WHERE device_id = 'far')`,
    );
    await here.app.get(RoomReconciler, { strict: false }).now();
    return await act();
  } finally {
    Object.assign(heartbeat, { presence });
  }
}

interface HeldRenewal {
  /** Resolves when it has begun and has not reached the database. */
  readonly begun: Promise<void>;
  /** Lets it reach the database, after everything that the instance has sent meanwhile. */
  goOn(): Promise<void>;
}

/** Holds the next renewal of the lease. */
function holdRenewal({ app }: TestService): HeldRenewal {
  const database = app.get(Database);
  const run = database.run.bind(database);
  const sent: Promise<unknown>[] = [];
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const begun = new Promise<void>((resolve) => {
    database.run = async <Row>(...[statement, values]: Parameters<Database['run']>): Promise<Row[]> => {
      if (statement.name === 'realtime.renew_lease') {
        resolve();
        await released;
        return run<Row>(statement, values);
      }
      const answer = run<Row>(statement, values);
      sent.push(answer);
      return answer;
    };
  });
  const goOn = async (): Promise<void> => {
    await Promise.allSettled(sent);
    database.run = run;
    release();
  };
  return { begun, goOn };
}

interface Told {
  readonly encryptedPath: string;
}

/** Commits an upload without an event. */
async function unheard(service: TestService, path: string): Promise<void> {
  const undeafen = deafen(service);
  try {
    await workspace.as(alice.at(service.url)).put(path, path, 'laptop').expect(201);
  } finally {
    undeafen();
  }
}

/** Puts the log of the workspace back to its first change. */
async function goBack(): Promise<void> {
  await here.database.query('DELETE FROM changes WHERE workspace_id = $1 AND cursor > 1', [workspace.id]);
  await here.database.query('UPDATE workspaces SET head_cursor = 1 WHERE id = $1', [workspace.id]);
}

function toldBy(socket: TestSocket): Told[] {
  return socket.of('changes').flatMap((frame) => frame['changes'] as Told[]);
}

function lastCursor(socket: TestSocket): number {
  return (socket.of('changes').at(-1)?.['cursor'] ?? 0) as number;
}

function ascends(cursors: number[]): boolean {
  return cursors.every((cursor, index) => index === 0 || cursor > (cursors[index - 1] ?? 0));
}

function wire({ encryptedPath, action, contentHash, encryptedSize, version }: PulledChange): object {
  return { encryptedPath, action, contentHash, encryptedSize, version };
}
