import { once as event } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import type pg from 'pg';
import type { DataSource } from 'typeorm';
import { NodeRouter, type ShardRows } from '../../src/platform/database/distribution/index.js';
import {
  AmbiguousCommit,
  createDataSource,
  Database,
  isUnanswered,
  ofWorkspace,
  type Part,
  type Statement,
  StatementLimiter,
  statement,
} from '../../src/platform/database/index.js';
import type { DatabaseFault } from '../kit/database-link.js';
import { isEngineThere } from '../kit/distributed-database.js';
import { holdTimers } from '../kit/held-timers.js';
import { eventually, holdRow } from '../kit/index.js';
import { StandInEngine, type StandInNode } from '../kit/stand-in-engine.js';

const POOL = 3;
const FAILURES = 100;
/** As the service has it for its pool. */
const CONNECT_WITHIN_MS = 5_000;
/** For a connection, or a turn. */
const LONGEST_WAIT_MS = 5_000;
/** A node that this process does not reach is tried again after this. */
const DIRECT_AGAIN_MS = 2_000;

/** A shard each; the first is on node 1, the second on node 2. */
const [FIRST, SECOND] = [0, 1];

const read = ofWorkspace('test.read', 'SELECT name FROM workspaces WHERE id = $1');
const changesOf = statement('test.changes', 'SELECT count(*) FROM changes WHERE workspace_id = $1');
const readAll = statement('test.read_all', 'SELECT name FROM workspaces ORDER BY id');
const add = statement(
  'test.add',
  'UPDATE workspaces SET head_cursor = head_cursor + 1 WHERE id = $1 RETURNING name',
);
const addAll = statement('test.add_all', 'UPDATE workspaces SET head_cursor = head_cursor + 1');
const FAILING = 'SELECT 1 / (head_cursor - head_cursor) FROM workspaces WHERE id = $1';
const fail = statement('test.fail', FAILING);
const failOnNode = ofWorkspace('test.fail_on_node', FAILING);
const failAll = statement('test.fail_all', 'SELECT 1 / (head_cursor - head_cursor) FROM workspaces');

/** A function of uploads, in the place of the schema's. */
const COUNTING = `
  DROP FUNCTION put_documents;
  CREATE FUNCTION put_documents(p_workspace uuid) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    counted bigint;
  BEGIN
    UPDATE workspaces SET head_cursor = head_cursor + 1 WHERE id = p_workspace RETURNING head_cursor INTO counted;
    RETURN counted;
  END $$`;
const count = ofWorkspace('test.count', 'SELECT counted FROM put_documents($1) AS counted');
/** For each workspace; fails where the divisor is 0. */
const countAll = statement(
  'test.together',
  `SELECT id, put_documents(id) AS counted, 1 / $2::int AS share, current_setting('lock_timeout') AS wait
   FROM unnest($1::uuid[]) AS asked (id)`,
);

interface Counted {
  readonly id: string;
  readonly counted: number;
}
const waitOf = ofWorkspace(
  'test.wait',
  `SELECT current_setting('lock_timeout') AS wait FROM workspaces WHERE id = $1`,
);

/** What a network does to a statement, and how often the statement is done then. */
const BREAKS: [string, DatabaseFault, number][] = [
  ['before it arrives', { kind: 'reset' }, 0],
  ['after it is done', { kind: 'cut after sending' }, 1],
  ['in the middle of the answer', { kind: 'truncate' }, 1],
];

/** Real databases and connections in the places of an engine that distributes tables. */
(isEngineThere ? describe.skip : describe)('where workspaces are on nodes,', () => {
  let engine: StandInEngine;
  let source: DataSource;
  let router: NodeRouter;
  let database: Database;
  let changes: [string, boolean][];
  let hasEnded: boolean;

  beforeAll(async () => {
    engine = await StandInEngine.create(3);
    await engine.coordinator.database.query(COUNTING);
  });
  afterAll(() => engine.close());

  beforeEach(async () => {
    await engine.reset();
    for (const shard of [FIRST, SECOND])
      for (const nth of [0, 1]) {
        const onNode = engine.node(shard + 1).database;
        const id = engine.workspaceIn(shard, nth);
        await onNode.query(insertInto(engine.table(shard, 'workspaces')), [id, `of shard ${shard}`]);
        await engine.coordinator.database.query(insertInto('workspaces'), [id, 'of the coordinator']);
      }
    const { url } = engine.coordinator.link;
    const onPoolError = (): void => undefined;
    changes = [];
    hasEnded = false;
    source = await createDataSource({ target: url, poolSize: POOL, entities: [], onPoolError }).initialize();
    const coordinator = (source.driver as unknown as { master: pg.Pool }).master;
    const onChange = (...change: [string, boolean]): unknown => changes.push(change);
    router = new NodeRouter({ coordinator, url, onPoolError, onChange });
    database = new Database(source, new StatementLimiter({ atOnce: POOL, connections: POOL }), router);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    if (!hasEnded) await database.endNodes();
    await source.destroy();
  });

  const everywhere = (): readonly StandInNode[] => [engine.coordinator, ...engine.nodes];
  const idOf = (shard: number): string => engine.workspaceIn(shard);

  /** The statements of this file that have arrived, with the node, or 0 for the coordinator; forgets them. */
  function arrived(): string[] {
    const all = everywhere().flatMap(({ seen }, place) =>
      seen.filter((one) => one.startsWith('test.')).map((one) => `${place}: ${one}`),
    );
    for (const one of everywhere()) one.seen = [];
    return all;
  }

  /** How often a workspace was written, in what each node has of its shard, and at last in the tables of the coordinator. */
  async function writes(shard: number): Promise<number[]> {
    const counted: number[] = [];
    for (const { database: one } of [...engine.nodes, engine.coordinator]) {
      const table = one === engine.coordinator.database ? 'workspaces' : engine.table(shard, 'workspaces');
      const [there] = await one.query<{ is: boolean }>('SELECT to_regclass($1) IS NOT NULL AS is', [table]);
      const rows = there?.is
        ? await one.query<{ count: string }>(`SELECT head_cursor AS count FROM ${table} WHERE id = $1`, [
            idOf(shard),
          ])
        : [];
      counted.push(Number(rows[0]?.count ?? 0));
    }
    return counted;
  }

  /** Every connection is back in its pool, and every pool has connections to give. */
  async function expectNoLeak(): Promise<void> {
    for (const pool of [...(await database.nodePools()), database.pool]) {
      expect(pool.totalCount).toBeLessThanOrEqual(POOL);
      expect([pool.idleCount, pool.waitingCount]).toEqual([pool.totalCount, 0]);
    }
  }

  const nameOf = async (shard: number): Promise<unknown> =>
    (await database.run<{ name: string }>(read, [idOf(shard)]))[0]?.name;

  const writeTo = async (shard: number): Promise<unknown> =>
    (
      await database.workspaceTransaction(idOf(shard), (tx) => tx.run<{ name: string }>(add, [idOf(shard)]))
    )[0]?.name;

  /** Each node's first statement that begins so waits on its way there until the first shard has moved to another node. */
  function moveOnTheWay(statement: string, moves: Record<number, number>): void {
    for (const [from, to] of Object.entries(moves))
      engine.node(Number(from)).set(
        once(
          (arriving) => arriving.startsWith(statement),
          () => ({ kind: 'hold', until: engine.move(FIRST, to) }),
        ),
      );
  }

  /** This process thinks that so much time has passed. */
  function passTime(ms: number): void {
    const now = performance.now() + ms;
    jest.spyOn(performance, 'now').mockReturnValue(now);
  }

  /** The connections to a node end, and this process has noticed. */
  async function cut(number: number, of = 1): Promise<void> {
    await engine.node(number).link.cut();
    await eventually(() => expect(router.connections).toBe(of - 1));
  }

  describe('statements of a workspace', () => {
    it('go to the node that has its shard, and nowhere else', async () => {
      expect([await nameOf(FIRST), await nameOf(SECOND)]).toEqual(['of shard 0', 'of shard 1']);
      expect(arrived()).toEqual(['1: test.read 102008', '2: test.read 102009']);
    });

    it('go there in a transaction too, which holds the shard first', async () => {
      expect(await writeTo(SECOND)).toBe('of shard 1');
      expect(engine.node(2).seen.slice(-4)).toEqual([
        'BEGIN',
        'SELECT hold_shard(102009)',
        'test.add in 102009',
        'COMMIT',
      ]);
      expect(arrived()).toEqual(['2: test.add in 102009']);
      expect(await writes(SECOND)).toEqual([0, 1, 0, 0]);
    });

    it('go there when they change it in a way that only one server can', async () => {
      expect(await database.runInWorkspace(add, [idOf(FIRST)])).toEqual([{ name: 'of shard 0' }]);
      expect(arrived()).toEqual(['1: test.add in 102008']);
    });

    it('that change accounts too go to the coordinator, which commits both together', async () => {
      await database.sharedTransaction((tx) => tx.run(add, [idOf(FIRST)]));
      expect(engine.coordinator.seen.slice(-4)).toEqual([
        'BEGIN',
        'database.share_commit',
        'test.add',
        'COMMIT',
      ]);
      expect(arrived()).toEqual(['0: test.add']);
    });

    it('go to the coordinator when they have no text for a node', async () => {
      await expect(database.run(fail, [idOf(FIRST)])).rejects.toThrow('division by zero');
      expect(arrived()).toEqual(['0: test.fail']);
    });

    it('of two shards on one node each use the tables of their own', async () => {
      await engine.move(FIRST, 2);
      for (const shard of [FIRST, SECOND, FIRST]) expect(await nameOf(shard)).toBe(`of shard ${shard}`);
      expect(arrived()).toEqual([FIRST, SECOND, FIRST].map((shard) => `2: test.read ${102_008 + shard}`));
    });

    it('are not repeated when they fail by themselves', async () => {
      await expect(database.run(failOnNode, [idOf(FIRST)])).rejects.toThrow('division by zero');
      const work = database.workspaceTransaction(idOf(FIRST), (tx) => tx.run(fail, [idOf(FIRST)]));
      await expect(work).rejects.toThrow('division by zero');
      expect(arrived()).toEqual(['1: test.fail_on_node 102008', '1: test.fail in 102008']);
    });

    it('fail when the coordinator does not say where they belong, and go there as soon as it does', async () => {
      const isAboutPlaces = (asked: string): boolean => asked.includes('pg_dist_placement');
      engine.coordinator.set(once(isAboutPlaces, () => ({ kind: 'reset' })));
      expect(isUnanswered(await nameOf(FIRST).catch((thrown: unknown) => thrown))).toBe(true);
      expect(await nameOf(FIRST)).toBe('of shard 0');
    });
  });

  describe('a shard that has moved', () => {
    it.each([
      ['is there still', false],
      ['is dropped', true],
    ])('is followed when its old table %s', async (_, isDropped) => {
      await nameOf(FIRST);
      await engine.move(FIRST, 2, { isDropped });
      arrived();
      expect(await nameOf(FIRST)).toBe('of shard 0');
      expect(arrived()).toEqual(['1: test.read 102008', '2: test.read 102008']);
      await engine.move(FIRST, 3, { isDropped });
      expect(await writeTo(FIRST)).toBe('of shard 0');
      expect(arrived()).toEqual(['3: test.add in 102008']);
      expect(await writes(FIRST)).toEqual([0, 0, 1, 0]);
      await expectNoLeak();
    });

    it('is not read where it was', async () => {
      await nameOf(FIRST);
      await engine.move(FIRST, 2);
      await engine.node(2).database.query(`UPDATE ${engine.table(FIRST, 'workspaces')} SET name = 'changed'`);
      expect(await nameOf(FIRST)).toBe('changed');
    });

    it('twice while a statement is on its way is followed twice', async () => {
      moveOnTheWay('test.read', { 1: 2, 2: 3 });
      expect(await nameOf(FIRST)).toBe('of shard 0');
      expect(arrived()).toEqual([1, 2, 3].map((place) => `${place}: test.read 102008`));
    });

    it('twice while a transaction begins is followed twice', async () => {
      moveOnTheWay('SELECT hold_shard', { 1: 2, 2: 3 });
      expect(await writeTo(FIRST)).toBe('of shard 0');
      expect(arrived()).toEqual(['3: test.add in 102008']);
      expect(await writes(FIRST)).toEqual([0, 0, 1, 0]);
    });

    it('three times is left to the coordinator', async () => {
      moveOnTheWay('test.read', { 1: 2, 2: 3, 3: 1 });
      expect(await nameOf(FIRST)).toBe('of the coordinator');
      expect(arrived()).toEqual(['0: test.read', ...[1, 2, 3].map((place) => `${place}: test.read 102008`)]);
      moveOnTheWay('SELECT hold_shard', { 1: 2, 2: 3, 3: 1 });
      expect(await writeTo(FIRST)).toBe('of the coordinator');
      expect(arrived()).toEqual(['0: test.add']);
      await expectNoLeak();
    });

    it('waits for a transaction that has begun', async () => {
      const moved: string[] = [];
      let moving: Promise<void> | undefined;
      await database.workspaceTransaction(idOf(FIRST), async (tx) => {
        await tx.run(add, [idOf(FIRST)]);
        moving = engine.move(FIRST, 2).then(() => void moved.push('moved'));
        await engine
          .node(1)
          .database.eventually(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`);
        await tx.run(add, [idOf(FIRST)]);
        expect(moved).toEqual([]);
      });
      await moving;
      expect(await writes(FIRST)).toEqual([2, 2, 0, 0]);
      expect(arrived()).toEqual(['1: test.add in 102008', '1: test.add in 102008']);
    });

    it('is found by an upload before it writes anything', async () => {
      moveOnTheWay('test.count', { 1: 2 });
      expect(await database.run(count, [idOf(FIRST)])).toEqual([{ counted: 1 }]);
      expect(await writes(FIRST)).toEqual([0, 1, 0, 0]);
      expect(arrived()).toEqual(['1: test.count 102008', '2: test.count 102008']);
    });
  });

  /** One that has begun on the node of a workspace, and goes on until it is told to end. */
  async function openTransaction(
    workspace: number,
  ): Promise<{ transaction: Promise<void>; end: () => void }> {
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    let transaction = Promise.resolve();
    await new Promise<void>((begun) => {
      transaction = database.workspaceTransaction(idOf(workspace), () => {
        begun();
        return ended;
      });
    });
    return { transaction, end };
  }

  it('what needs one node keeps half of the connections, and the rest is for others', async () => {
    const done: string[] = [];
    const { transaction, end } = await openTransaction(FIRST);
    const timers = holdTimers(LONGEST_WAIT_MS, LONGEST_WAIT_MS); // whatever follows takes longer on a slow machine
    const asked = {
      transaction,
      statement: nameOf(FIRST),
      'statement of the coordinator': database.run(changesOf, [idOf(FIRST)]),
      'another transaction': writeTo(FIRST),
      'shared transaction': database.sharedTransaction((tx) => tx.run(read, [idOf(FIRST)]), idOf(FIRST)),
      'shared commit': database.runOnOneNode(countAll, [idOf(FIRST)], () => [[idOf(FIRST)], 1]),
    };
    const noted = Object.entries(asked).map(([what, work]) => work.then(() => done.push(what)));
    try {
      await eventually(() => expect(database.waiting).toBe(5));
      expect([await nameOf(SECOND), await writeTo(SECOND)]).toEqual(Array(2).fill('of shard 1'));
      await database.sharedTransaction((tx) => tx.run(read, [idOf(SECOND)]), idOf(SECOND));
      await database.run(changesOf, [idOf(SECOND)]);
      await database.transaction((tx) => tx.run(read, [idOf(SECOND)]));
      expect(done).toEqual([]);
    } finally {
      timers.release();
      end();
    }
    await Promise.all(noted);
    expect(done.sort()).toEqual(Object.keys(asked).sort());
    expect(database.waiting).toBe(0);
  });

  it('what waits too long for its node is refused as for want of a connection', async () => {
    const { transaction, end } = await openTransaction(FIRST);
    const timers = holdTimers(LONGEST_WAIT_MS, LONGEST_WAIT_MS);
    const refused = nameOf(FIRST).catch((thrown: unknown) => thrown);
    await eventually(() => expect(database.waiting).toBe(1));
    timers.goOff();
    expect(isUnanswered(await refused)).toBe(true);
    end();
    await transaction;
    expect(await nameOf(FIRST)).toBe('of shard 0');
  });

  describe('a node with an IPv6 address', () => {
    let relay: Server;
    beforeEach(async () => {
      const { port } = engine.node(1).link;
      relay = createServer((socket) => {
        const onward = connect(port, '127.0.0.1');
        for (const one of [socket, onward]) one.on('error', () => undefined);
        socket.pipe(onward).pipe(socket);
      });
      relay.listen(0, '::1');
      await event(relay, 'listening');
      await place('::1', (relay.address() as AddressInfo).port);
    });
    afterEach(async () => {
      await place('127.0.0.1', engine.node(1).link.port);
      await database.endNodes();
      hasEnded = true;
      relay.close();
      await event(relay, 'close');
    });

    async function place(host: string, port: number): Promise<void> {
      await engine.coordinator.database.query(
        'UPDATE pg_dist_node SET nodename = $1, nodeport = $2 WHERE groupid = 1',
        [host, port],
      );
    }

    it('is connected to there', async () => {
      expect([await nameOf(FIRST), await writeTo(FIRST)]).toEqual(Array(2).fill('of shard 0'));
      expect(await database.nodeOf(idOf(FIRST))).toMatch(/^::1:\d+$/);
    });
  });

  describe('a node that only this process cannot reach', () => {
    it('is left to the coordinator for a while, and then tried again', async () => {
      await nameOf(FIRST);
      await cut(1);
      passTime(0);
      arrived();
      expect([await nameOf(FIRST), await writeTo(FIRST)]).toEqual(Array(2).fill('of the coordinator'));
      await engine.node(1).link.mend();
      passTime(1_000);
      expect([await nameOf(FIRST), await writeTo(FIRST)]).toEqual(Array(2).fill('of the coordinator'));
      expect(await nameOf(SECOND)).toBe('of shard 1');
      passTime(60_000);
      expect([await nameOf(FIRST), await writeTo(FIRST)]).toEqual(Array(2).fill('of shard 0'));
      expect(await writes(FIRST)).toEqual([1, 0, 0, 2]);
      expect(changes).toEqual([]);
    });

    it('because nothing comes back from it is left to the coordinator too', async () => {
      await nameOf(SECOND);
      expect(router.connections).toBe(1);
      engine.node(1).link.silence();
      const timers = holdTimers(CONNECT_WITHIN_MS, CONNECT_WITHIN_MS);
      for (const ask of [nameOf, writeTo]) {
        const asked = ask(FIRST);
        await eventually(() => expect(router.connections).toBe(2));
        timers.goOff();
        expect(await asked).toBe('of the coordinator');
        passTime(60_000);
      }
    });
  });

  describe('a node that the coordinator cannot reach', () => {
    it('is refused at once until it answers, and the others go on', async () => {
      const { key } = engine.node(1);
      await engine.lose(1);
      await expect(nameOf(FIRST)).rejects.toThrow(`connection to the remote node sync@${key} failed`);
      arrived();
      const refusals = [nameOf(FIRST), writeTo(FIRST), database.refuseAway(idOf(FIRST))];
      for (const refusal of refusals) {
        const error: unknown = await refusal.catch((thrown: unknown) => thrown);
        expect([String(error), isUnanswered(error)]).toEqual([`Error: the node ${key} is away`, true]);
      }
      expect(arrived()).toEqual([]);
      expect([await nameOf(SECOND), await writeTo(SECOND)]).toEqual(Array(2).fill('of shard 1'));
      await database.refuseAway(idOf(SECOND));
      expect(await database.nodePools()).toHaveLength(1);

      await engine.regain(1);
      passTime(60_000);
      await eventually(() => database.refuseAway(idOf(FIRST)));
      expect([await nameOf(FIRST), await writeTo(FIRST)]).toEqual(Array(2).fill('of shard 0'));
      expect(changes).toEqual([
        [key, true],
        [key, false],
      ]);
    });

    it('is known from a transaction too', async () => {
      await engine.lose(1);
      await expect(writeTo(FIRST)).rejects.toThrow('is away');
      await expect(database.refuseAway(idOf(FIRST))).rejects.toThrow('is away');
    });

    it('is found where a standby has taken its place', async () => {
      await engine.lose(1);
      await expect(nameOf(FIRST)).rejects.toThrow('failed with the following error');
      const standby = await engine.replace(1);
      try {
        await eventually(() => database.refuseAway(idOf(FIRST)));
        expect(await database.nodeOf(idOf(FIRST))).toBe(`127.0.0.1:${standby.port}`);
        expect([await nameOf(FIRST), await writeTo(FIRST)]).toEqual(Array(2).fill('of shard 0'));
      } finally {
        await standby.cut();
      }
    });
  });

  describe('a connection to a node that breaks', () => {
    it.each(BREAKS)('%s fails the upload, which is not repeated', async (_, fault, times) => {
      await database.run(count, [idOf(FIRST)]);
      arrived();
      engine.node(1).set(
        once(
          (asked) => asked.startsWith('test.count'),
          () => fault,
        ),
      );
      const error: unknown = await database.run(count, [idOf(FIRST)]).catch((thrown: unknown) => thrown);
      expect(isUnanswered(error)).toBe(true);
      expect(arrived()).toEqual(['1: test.count 102008']);
      expect(await writes(FIRST)).toEqual([1 + times, 0, 0, 0]);
      await expectNoLeak();
      expect(await database.run(count, [idOf(FIRST)])).toEqual([{ counted: 2 + times }]);
    });

    it.each(BREAKS)(
      '%s leaves open what became of a COMMIT, which is not repeated',
      async (_, fault, times) => {
        engine.node(1).set(
          once(
            (asked) => asked === 'COMMIT',
            () => fault,
          ),
        );
        await expect(writeTo(FIRST)).rejects.toBeInstanceOf(AmbiguousCommit);
        expect(arrived()).toEqual(['1: test.add in 102008']);
        expect(await writes(FIRST)).toEqual([times, 0, 0, 0]);
        await expectNoLeak();
        expect(await writeTo(FIRST)).toBe('of shard 0');
      },
    );

    it.each(BREAKS)('%s before the COMMIT begins the transaction anew', async (_, fault) => {
      engine.node(1).set(
        once(
          (asked) => asked.startsWith('test.add'),
          () => fault,
        ),
      );
      expect(await writeTo(FIRST)).toBe('of shard 0');
      expect(await writes(FIRST)).toEqual([1, 0, 0, 0]);
      await expectNoLeak();
    });

    it.each([
      ['by an administrator', 'FATAL', '57P01'],
      ['because it was idle in a transaction, in the language of the server', 'ВАЖНО', '25P03'],
      ['because a transaction took too long, in the language of the server', 'ВАЖНО', '25P04'],
      ['for another reason', 'FATAL', '58030'],
      ['by a crash', 'PANIC', '58030'],
    ])('after an error that ends it %s is not lent again', async (_, severity, code) => {
      await nameOf(FIRST);
      engine.node(1).set(
        once(
          (asked) => asked.startsWith('test.read'),
          () => ({ kind: 'end', severity, code }),
        ),
      );
      await expect(nameOf(FIRST)).rejects.toMatchObject({ severity, code });
      expect(await nameOf(FIRST)).toBe('of shard 0');
    });

    it('while it is lent and idle ends no process', async () => {
      let arriving: (() => void) | undefined;
      const until = new Promise<void>((resolve) => (arriving = resolve));
      engine.coordinator.set(
        once(
          (asked) => asked.includes('pg_get_functiondef'),
          () => ({ kind: 'hold', until }),
        ),
      );
      const asked = database.run(count, [idOf(FIRST)]).catch((thrown: unknown) => thrown);
      await eventually(() => expect(engine.coordinator.sawOf('pg_get_functiondef')).toHaveLength(1));
      await engine.node(1).link.cut();
      await engine.node(1).link.mend();
      arriving?.();
      expect(isUnanswered(await asked)).toBe(true);
      expect(await database.run(count, [idOf(FIRST)])).toEqual([{ counted: 1 }]);
    });
  });

  describe('statements for workspaces of one node', () => {
    const LOCKED = '55P03';
    const together = (
      ids: readonly string[],
      divisorOf: (shard: number) => number = () => 1,
    ): Promise<ShardRows<Counted>[]> =>
      database.runOnOneNode<Counted>(countAll, ids, (places) => {
        const asked = places.map((place) => ids[place] as string);
        return [asked, divisorOf(engine.shardOf(asked[0] as string))];
      });
    const both = (): string[] => [FIRST, SECOND].map(idOf);
    const counted = (parts: readonly ShardRows<Counted>[]): unknown[] =>
      parts.map(({ places, rows }) => [places, rows.map((row) => row.counted)]);

    /** The transactions that wrote the workspaces last, on a node. */
    async function commits(number: number): Promise<string[]> {
      const xmins = [FIRST, SECOND].map(
        (shard) => `SELECT xmin::text FROM ${engine.table(shard, 'workspaces')}
        WHERE head_cursor > 0`,
      );
      const rows = await engine.node(number).database.query<{ xmin: string }>(xmins.join(' UNION '));
      return rows.map(({ xmin }) => xmin);
    }

    it('are done in one commit, once for each shard', async () => {
      await engine.move(SECOND, 1);
      const ids = [idOf(FIRST), idOf(SECOND), engine.workspaceIn(FIRST, 1)];
      const parts = await together(ids);
      expect(parts.map(({ places, rows }) => [places, rows.map(({ id }) => id)])).toEqual([
        [
          [0, 2],
          [ids[0], ids[2]],
        ],
        [[1], [ids[1]]],
      ]);
      expect(await commits(1)).toHaveLength(1);
      expect(engine.node(1).sawOf('COMMIT')).toHaveLength(1);
      expect(arrived()).toEqual([FIRST, SECOND].map((shard) => `1: test.together ${102_008 + shard}`));
      await expectNoLeak();
    });

    it('leave out the workspaces of another node', async () => {
      expect(counted(await together([idOf(SECOND), idOf(FIRST), engine.workspaceIn(SECOND, 1)]))).toEqual([
        [
          [0, 2],
          [1, 1],
        ],
      ]);
      expect(arrived()).toEqual(['2: test.together 102009']);
      expect(await writes(FIRST)).toEqual([0, 0, 0, 0]);
    });

    it.each([
      ['is there still', false],
      ['is dropped', true],
    ])('do nothing when one of the shards has moved and its old table %s', async (_, isDropped) => {
      await engine.move(SECOND, 1);
      await together(both());
      await engine.move(SECOND, 2, { isDropped });
      arrived();
      expect(await together(both())).toEqual([]);
      expect(await writes(FIRST)).toEqual([1, 0, 0, 0]);
      expect(arrived().every((one) => one.startsWith('1: '))).toBe(true);
      expect(counted(await together(both()))).toEqual([[[0], [2]]]);
      expect(counted(await together(both().reverse()))).toEqual([[[0], [2]]]);
      await expectNoLeak();
    });

    it.each([
      ['first', FIRST],
      ['last', SECOND],
    ])('do nothing when the %s of them fails, and fail for its reason', async (_, failing) => {
      await engine.move(SECOND, 1);
      for (let n = 0; n <= POOL; n++)
        await expect(together(both(), (shard) => (shard === failing ? 0 : 1))).rejects.toThrow(
          'division by zero',
        );
      expect([...(await writes(FIRST)), ...(await writes(SECOND))]).toEqual(Array(8).fill(0));
      await expectNoLeak();
      expect(counted(await together(both()))).toEqual([
        [[0], [1]],
        [[1], [1]],
      ]);
    });

    it.each(BREAKS)('are not repeated when the connection breaks %s', async (_, fault) => {
      await engine.move(SECOND, 1);
      await together(both());
      arrived();
      engine.node(1).set(
        once(
          (asked) => asked === 'test.together 102009',
          () => fault,
        ),
      );
      const error: unknown = await together(both()).catch((thrown: unknown) => thrown);
      expect(isUnanswered(error)).toBe(true);
      expect(arrived()).toEqual([FIRST, SECOND].map((shard) => `1: test.together ${102_008 + shard}`));
      for (const shard of [FIRST, SECOND]) expect((await writes(shard))[0]).toBe(1);
      await expectNoLeak();
    });

    it.each(BREAKS)('are not repeated when COMMIT is lost %s', async (_, fault, times) => {
      await engine.move(SECOND, 1);
      await together(both());
      arrived();
      engine.node(1).set(
        once(
          (asked) => asked === 'COMMIT',
          () => fault,
        ),
      );
      const error: unknown = await together(both()).catch((thrown: unknown) => thrown);
      expect(isUnanswered(error)).toBe(true);
      expect(arrived()).toEqual([FIRST, SECOND].map((shard) => `1: test.together ${102_008 + shard}`));
      for (const shard of [FIRST, SECOND]) expect((await writes(shard))[0]).toBe(1 + times);
      await expectNoLeak();
      expect(counted(await together(both()))).toEqual([0, 1].map((place) => [[place], [2 + times]]));
    });

    it('wait only a moment for a lock, and other statements as long as ever', async () => {
      const table = engine.table(FIRST, 'workspaces');
      const held = await holdRow(engine.node(1).database, table, 'id', idOf(FIRST));
      try {
        const error: unknown = await together([idOf(FIRST)]).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ code: LOCKED });
      } finally {
        await held.release();
      }
      const [part] = await together([idOf(FIRST)]);
      expect(part?.rows).toEqual([{ id: idOf(FIRST), counted: 1, share: 1, wait: '50ms' }]);
      expect(await database.run(waitOf, [idOf(FIRST)])).toEqual([{ wait: '3s' }]);
      await expectNoLeak();
    });

    it('leave out the workspaces of a node that is away', async () => {
      await engine.lose(1);
      await expect(nameOf(FIRST)).rejects.toThrow('failed with the following error');
      expect(counted(await together(both()))).toEqual([[[1], [1]]]);
      expect(await together([idOf(FIRST)])).toEqual([]);
    });

    it('do nothing on a node that this process cannot reach, and then leave it out for a while', async () => {
      await engine.node(1).link.cut();
      passTime(0);
      expect(await together(both())).toEqual([]);
      expect(counted(await together(both()))).toEqual([[[1], [1]]]);
      await engine.node(1).link.mend();
      passTime(60_000);
      expect(counted(await together(both()))).toEqual([[[0], [1]]]);
    });

    it.each(['BEGIN', 'CREATE OR REPLACE FUNCTION', 'test.together', 'COMMIT'])(
      'give their connection back when %s fails',
      async (statement) => {
        engine.node(1).set((asked) => (asked.trimStart().startsWith(statement) ? FULL : undefined));
        for (let n = 0; n <= POOL; n++) await expect(together(both())).rejects.toThrow(FULL.message);
        await expectNoLeak();
        engine.node(1).set();
        expect(counted(await together(both()))).toEqual([[[0], [1]]]);
      },
    );
  });

  describe('work on all parts', () => {
    const SECOND_ROWS = Array(2).fill({ name: 'of shard 1' });

    it('does each shard once', async () => {
      const rows = await database.runOnParts<{ name: string }>(readAll, []);
      expect(rows.map(({ name }) => name).sort()).toEqual([
        'of shard 0',
        'of shard 0',
        'of shard 1',
        'of shard 1',
      ]);
      expect(arrived().sort()).toEqual(['1: test.read_all in 102008', '2: test.read_all in 102009']);
    });

    it('leaves out a node that is away, before and after that is known', async () => {
      await engine.lose(1);
      expect(await database.runOnParts(readAll, [])).toEqual(SECOND_ROWS);
      await expect(nameOf(FIRST)).rejects.toThrow('is away');
      arrived();
      await engine.node(1).link.mend(); // what this process can reach makes no difference
      passTime(60_000);
      expect(await database.runOnParts(readAll, [])).toEqual(SECOND_ROWS);
      expect(arrived()).toEqual(['2: test.read_all in 102009']);
    });

    it('leaves out a node that is away in a walk too, and nothing else that fails', async () => {
      const walk = async (asked: Statement): Promise<object[]> => {
        const rows: object[] = [];
        for await (const row of database.walkParts((part) => rowsIn(part, asked))) rows.push(row);
        return rows;
      };
      await engine.lose(1);
      expect(await walk(readAll)).toEqual(SECOND_ROWS);
      await expect(walk(failAll)).rejects.toThrow('division by zero');
      await expectNoLeak();
    });

    it('leaves out a node that only this process cannot reach, and says when it reaches it', async () => {
      const { key, link } = engine.node(1);
      let back = 0;
      database.onNodeBack(() => back++);
      await database.runOnParts(readAll, []);
      await cut(1, 2);
      passTime(0);
      const looks = holdTimers(DIRECT_AGAIN_MS, DIRECT_AGAIN_MS);
      const readBoth = async (): Promise<unknown[]> => {
        const { result, leftOut } = await database.notingAway(() => database.runOnParts(readAll, []));
        return [result, leftOut];
      };
      expect(await readBoth()).toEqual([SECOND_ROWS, [key]]);
      expect(looks.started).toBe(1);
      looks.goOff();
      await eventually(() => expect(looks.started).toBe(2));
      await link.mend();
      expect(await readBoth()).toEqual([SECOND_ROWS, [key]]); // not tried before it is reached, which may take long
      expect([looks.started, back]).toEqual([2, 0]);
      looks.goOff();
      await eventually(() => expect(back).toBe(1));
      expect(looks.running()).toEqual([]);
      expect(await database.runOnParts(readAll, [])).toHaveLength(2 * SECOND_ROWS.length);
      expect(changes).toEqual([]);
    });

    it.each(BREAKS)('begins on another connection when the one that it gets breaks %s', async (_, fault) => {
      engine.node(1).set(
        once(
          (asked) => asked === 'BEGIN',
          () => fault,
        ),
      );
      await database.runOnParts(addAll, []);
      expect([await writes(FIRST), await writes(SECOND)]).toEqual([
        [1, 0, 0, 0],
        [0, 1, 0, 0],
      ]);
      await expectNoLeak();
    });

    it('does not look for what it has left out when the service ends', async () => {
      await engine.node(1).link.cut();
      const looks = holdTimers(DIRECT_AGAIN_MS, DIRECT_AGAIN_MS);
      expect(await database.runOnParts(readAll, [])).toEqual(SECOND_ROWS);
      expect(looks.running()).toHaveLength(1);
      await database.endNodes();
      hasEnded = true;
      expect(looks.running()).toEqual([]);
    });

    it('leaves out a node that goes away during a COMMIT', async () => {
      engine.node(1).set(
        once(
          (asked) => asked === 'COMMIT',
          () => ({ kind: 'hold', until: engine.lose(1) }),
        ),
      );
      const { key } = engine.node(1);
      const { leftOut } = await database.notingAway(() => database.runOnParts(addAll, []));
      expect(leftOut).toEqual([key]);
      expect(await writes(SECOND)).toEqual([0, 1, 0, 0]);
    });

    it('follows a shard that has moved', async () => {
      await database.runOnParts(readAll, []);
      await engine.move(FIRST, 3);
      await database.runOnParts(addAll, []);
      expect((await writes(FIRST))[0]).toBe(0);
      expect(await writes(SECOND)).toEqual([0, 1, 0, 0]);
      arrived();
      expect(await database.runOnParts(readAll, [])).toHaveLength(2 * SECOND_ROWS.length);
      expect(arrived().sort()).toEqual(['2: test.read_all in 102009', '3: test.read_all in 102008']);
    });

    it('that fails is rolled back, and gives its connections back', async () => {
      const work = (part: Part): Promise<unknown> =>
        part.transaction(async (tx) => {
          await tx.run(addAll, []);
          await tx.run(failAll, []);
        });
      for (let n = 0; n < FAILURES; n++)
        await expect(database.onParts(work)).rejects.toThrow('division by zero');
      expect([...(await writes(FIRST)), ...(await writes(SECOND))]).toEqual(Array(8).fill(0));
      await expectNoLeak();
    });
  });

  describe('a transaction on a node gives its connection back', () => {
    it.each([
      ['BEGIN', 'BEGIN'],
      ['holding the shard', 'SELECT hold_shard'],
      ['a statement', 'test.add'],
      ['COMMIT', 'COMMIT'],
    ])('when %s fails', async (_, statement) => {
      engine.node(1).set((asked) => (asked.startsWith(statement) ? FULL : undefined));
      for (let n = 0; n <= POOL; n++) await expect(writeTo(FIRST)).rejects.toThrow(FULL.message);
      await expectNoLeak();
      engine.node(1).set();
      expect(await writeTo(FIRST)).toBe('of shard 0');
      expect(await writes(FIRST)).toEqual([1, 0, 0, 0]);
    });

    it('when COMMIT does not commit, because an error was swallowed', async () => {
      const work = (): Promise<void> =>
        database.workspaceTransaction(idOf(FIRST), async (tx) => {
          await tx.run(add, [idOf(FIRST)]);
          await tx.run(fail, [idOf(FIRST)]).catch(() => undefined);
        });
      for (let n = 0; n <= POOL; n++) await expect(work()).rejects.toThrow('ended with ROLLBACK');
      await expectNoLeak();
      expect(await writes(FIRST)).toEqual([0, 0, 0, 0]);
    });

    it('when its work fails many times', async () => {
      const work = (): Promise<unknown> =>
        database.workspaceTransaction(idOf(FIRST), async (tx) => {
          await tx.run(add, [idOf(FIRST)]);
          throw new Error('of the work');
        });
      for (let n = 0; n < FAILURES; n++) await expect(work()).rejects.toThrow('of the work');
      await expectNoLeak();
      expect(await writes(FIRST)).toEqual([0, 0, 0, 0]);
    });
  });

  describe('the functions of uploads', () => {
    const created = (shard: number): number =>
      engine.nodes.flatMap((node) => node.sawOf(`FUNCTION pg_temp.put_documents_${102_008 + shard}`)).length;
    const upload = (shard: number): Promise<unknown> => database.run(count, [idOf(shard)]);

    it('are created once for each connection and shard', async () => {
      await engine.move(SECOND, 1);
      for (const shard of [FIRST, SECOND, FIRST, SECOND, FIRST]) await upload(shard);
      expect([created(FIRST), created(SECOND), router.connections]).toEqual([1, 1, 1]);
      expect(await writes(FIRST)).toEqual([3, 0, 0, 0]);
      expect(await writes(SECOND)).toEqual([2, 0, 0, 0]);
    });

    it('are created again on a new connection', async () => {
      await upload(FIRST);
      await cut(1);
      await engine.node(1).link.mend();
      expect(await upload(FIRST)).toEqual([{ counted: 2 }]);
      expect(created(FIRST)).toBe(2);
    });

    it('go with the connection that has met a moved shard', async () => {
      await upload(FIRST);
      await engine.move(FIRST, 2);
      await upload(FIRST);
      await engine.move(FIRST, 1);
      expect(await upload(FIRST)).toEqual([{ counted: 3 }]);
      expect(created(FIRST)).toBe(3);
      expect(await writes(FIRST)).toEqual([3, 2, 0, 0]);
    });

    it('are not created for what uploads nothing', async () => {
      await nameOf(FIRST);
      expect(created(FIRST)).toBe(0);
    });
  });

  it('the connections to nodes are counted, and end with the service', async () => {
    expect(router.connections).toBe(0);
    await nameOf(FIRST);
    await database.workspaceTransaction(idOf(SECOND), async () => {
      await nameOf(FIRST);
      expect(router.connections).toBe(2);
    });
    await database.endNodes();
    hasEnded = true;
    expect(router.connections).toBe(0);
    for (const { database: one } of engine.nodes)
      await one.eventually(
        `SELECT WHERE NOT EXISTS (SELECT FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'cloud-sync-service')`,
      );
  });
});

const insertInto = (table: string): string =>
  `INSERT INTO ${table} (id, user_id, name, created_at, updated_at) VALUES ($1, $1, $2, now(), now())`;

async function* rowsIn(part: Part, asked: Statement): AsyncGenerator<object, void> {
  yield* await part.run<object>(asked, []);
}

/** Of a server that cannot do it, and has changed nothing. */
const FULL = { kind: 'refuse', code: '53100', message: 'No space left on device' } as const;

/** The fault happens to the first statement that matches. */
function once(
  matches: (asked: string) => boolean,
  fault: () => DatabaseFault,
): (asked: string) => DatabaseFault | undefined {
  let isOver = false;
  return (asked) => {
    if (isOver || !matches(asked)) return undefined;
    isOver = true;
    return fault();
  };
}
