import { once as event } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import type { PoolClient } from 'pg';
import { ShardRouter } from '../../../src/platform/database/distribution/index.js';
import {
  AmbiguousCommit,
  createDataSource,
  type ServiceDataSource,
  Database,
  isUnanswered,
  ofWorkspace,
  runOnParts,
  StatementLimiter,
  statement,
  type StoredFunctions,
  type WorkspaceTx,
} from '../../../src/platform/database/index.js';
import type { DatabaseFault, DatabaseLink } from '../../kit/database-link.js';
import { isEngineThere } from '../../kit/distributed-database.js';
import { holdTimers } from '../../kit/held-timers.js';
import { eventually, holdRow } from '../../kit/index.js';
import { StandInEngine, type StandInNode } from '../../kit/stand-in-engine.js';

const POOL = 3;
const FAILURES = 100;
/** How long a statement waits for a connection, or for its turn. */
const LONGEST_WAIT_MS = 5_000;
const BEGIN = 'BEGIN; SELECT hold_shard';
const NOT_HERE = { code: 'CS001' };

/** Two shards; the first is on node 1, the second on node 2. */
const [FIRST, SECOND] = [0, 1];

const read = ofWorkspace('test.read', 'SELECT name FROM {workspaces} WHERE id = $1');
const changesOf = statement('test.changes', 'SELECT count(*) FROM {changes} WHERE workspace_id = $1');
const readAll = statement('test.read_all', 'SELECT name FROM {workspaces} ORDER BY id');
const add = statement(
  'test.add',
  'UPDATE {workspaces} SET head_cursor = head_cursor + 1 WHERE id = $1 RETURNING name',
);
const addAll = statement('test.add_all', 'UPDATE {workspaces} SET head_cursor = head_cursor + 1');
const FAILING = 'SELECT 1 / (head_cursor - head_cursor) FROM {workspaces} WHERE id = $1';
const fail = statement('test.fail', FAILING);
const failOnNode = ofWorkspace('test.fail_on_node', FAILING);
const failAll = statement('test.fail_all', 'SELECT 1 / (head_cursor - head_cursor) FROM {workspaces}');

/** Stands in for the functions of uploads. */
const COUNTING: StoredFunctions = {
  main: 'count_up',
  template: `
  CREATE OR REPLACE FUNCTION {count_up}(p_workspace uuid) RETURNS bigint LANGUAGE plpgsql AS $$
  DECLARE
    counted bigint;
  BEGIN
    {hold_shard}
    UPDATE {workspaces} SET head_cursor = head_cursor + 1 WHERE id = p_workspace RETURNING head_cursor INTO counted;
    RETURN counted;
  END $$`,
};
const count = ofWorkspace('test.count', 'SELECT counted FROM {count_up}($1) AS counted');
const countAll = ofWorkspace(
  'test.count_all',
  'SELECT {count_up}(id) AS counted FROM unnest($1::uuid[]) AS asked (id)',
);

/** When the network breaks during a statement, and how often the statement is then done. */
const BREAKS: [string, DatabaseFault, number][] = [
  ['before it arrives', { kind: 'reset' }, 0],
  ['after it is done', { kind: 'cut after sending' }, 1],
  ['in the middle of the answer', { kind: 'truncate' }, 1],
];

/** The answer of a server that has changed nothing. */
const FULL = { kind: 'refuse', code: '53100', message: 'No space left on device' } as const;

/** Plain PostgreSQL databases stand in for an engine that distributes tables. */
(isEngineThere ? describe.skip : describe)('where workspaces are on nodes,', () => {
  let engine: StandInEngine;
  let source: ServiceDataSource;
  let router: ShardRouter;
  let database: Database;
  let hasEnded: boolean;
  let standby: DatabaseLink | undefined;

  beforeAll(async () => {
    engine = await StandInEngine.create(3);
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
    hasEnded = false;
    source = await createDataSource({ target: url, poolSize: POOL, entities: [], onPoolError }).initialize();
    router = new ShardRouter({ coordinator: source.pool, url, functions: [COUNTING], onPoolError });
    database = new Database(source, new StatementLimiter({ atOnce: POOL, connections: POOL }), router);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await end();
    await standby?.cut();
    await source.destroy();
  });

  async function end(): Promise<void> {
    if (!hasEnded) await router.end();
    hasEnded = true;
  }

  const everywhere = (): readonly StandInNode[] => [engine.coordinator, ...engine.nodes];
  const idOf = (shard: number): string => engine.workspaceIn(shard);

  /** A statement of this file as it arrives at a node, in a transaction or outside. */
  const inside = (node: number, name: string, shard = FIRST): string =>
    `${node}: test.${name} ${engine.shardId(shard)}`;
  const routed = (node: number, name: string, shard = FIRST): string =>
    `${inside(node, name, shard)} guarded`;

  /** The statements of this file that have arrived, with the node, or 0 for the coordinator; forgets them. */
  function arrived(): string[] {
    const all = everywhere().flatMap(({ seen }, place) =>
      seen.filter((one) => one.startsWith('test.')).map((one) => `${place}: ${one}`),
    );
    for (const one of everywhere()) one.seen = [];
    return all;
  }

  /** How often a workspace was written, in the tables of each node, and last in those of the coordinator. */
  async function writes(shard: number): Promise<number[]> {
    const counted: number[] = [];
    for (const { database: one } of [...engine.nodes, engine.coordinator]) {
      const table = one === engine.coordinator.database ? 'workspaces' : engine.table(shard, 'workspaces');
      const [there] = await one.query<{ is: boolean }>('SELECT to_regclass($1) IS NOT NULL AS is', [table]);
      const ask = `SELECT head_cursor AS count FROM ${table} WHERE id = $1`;
      const rows = there?.is ? await one.query<{ count: string }>(ask, [idOf(shard)]) : [];
      counted.push(Number(rows[0]?.count ?? 0));
    }
    return counted;
  }

  /** Every connection is back in its pool, and every pool has connections to give. */
  async function expectNoLeak(): Promise<void> {
    for (const pool of [...(await router.pools()), database.pool]) {
      expect(pool.totalCount).toBeLessThanOrEqual(POOL);
      expect([pool.idleCount, pool.waitingCount]).toEqual([pool.totalCount, 0]);
    }
  }

  const nameOf = async (shard: number): Promise<unknown> =>
    (await database.run<{ name: string }>(read, [idOf(shard)]))[0]?.name;
  const writeTo = async (shard: number): Promise<unknown> =>
    (await inTransaction((tx) => tx.run<{ name: string }>(add, [idOf(shard)]), shard))[0]?.name;
  const inTransaction = <T>(work: (tx: WorkspaceTx) => Promise<T>, shard = FIRST): Promise<T> =>
    database.workspaceTransaction(idOf(shard), work);
  const upload = (shard = FIRST): Promise<unknown> => database.run(count, [idOf(shard)]);

  /** Injects a fault into the next statement to a node that begins with this text. */
  function once(node: number, statement: string, fault: () => DatabaseFault): void {
    let isOver = false;
    engine.node(node).set((arriving) => {
      if (isOver || !arriving.startsWith(statement)) return undefined;
      isOver = true;
      return fault();
    });
  }

  /** Delays the next statement to each node that begins with this text until the first shard has moved on. */
  function moveOnTheWay(statement: string, moves: Record<number, number>): void {
    for (const [from, to] of Object.entries(moves))
      once(Number(from), statement, () => ({ kind: 'hold', until: engine.move(FIRST, to) }));
  }

  /** The number of connections to nodes that have shards. */
  const connections = async (): Promise<number> =>
    (await router.pools()).reduce((sum, { totalCount }) => sum + totalCount, 0);

  /** Ends the only connection to the first node, waits until the process notices, and refuses others. */
  async function cut(): Promise<void> {
    const before = await connections();
    await engine.node(1).link.cut();
    await eventually(async () => expect(await connections()).toBe(before - 1));
  }

  /** Puts a standby in place of the first node, without telling this process. */
  async function replace(): Promise<void> {
    standby = await engine.replace(1);
  }

  describe('statements of a workspace', () => {
    it('go to the node that has its shard, and nowhere else', async () => {
      expect([await nameOf(FIRST), await nameOf(SECOND)]).toEqual(['of shard 0', 'of shard 1']);
      expect(arrived()).toEqual([routed(1, 'read'), routed(2, 'read', SECOND)]);
    });

    it('go there in a transaction too, which holds the shard first', async () => {
      await nameOf(FIRST);
      await inTransaction(async (tx) => {
        await tx.run(read, [idOf(FIRST)]);
        await tx.run(add, [idOf(FIRST)]);
      });
      expect(engine.node(1).seen.slice(-4)).toEqual([
        'BEGIN; SELECT hold_shard(102008)',
        'test.read 102008',
        'test.add 102008',
        'COMMIT',
      ]);
      expect(arrived()).toEqual([routed(1, 'read'), inside(1, 'read'), inside(1, 'add')]);
      expect(await writes(FIRST)).toEqual([1, 0, 0, 0]);
    });

    it('go there for several workspaces of one shard at once', async () => {
      const ids = [0, 1].map((nth) => engine.workspaceIn(SECOND, nth));
      expect(await database.run(countAll, [ids])).toEqual([{ counted: 1 }, { counted: 1 }]);
      expect(arrived()).toEqual([routed(2, 'count_all', SECOND)]);
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

    it('go to the coordinator when they are not of one workspace alone', async () => {
      await expect(database.run(fail, [idOf(FIRST)])).rejects.toThrow('division by zero');
      expect(arrived()).toEqual(['0: test.fail']);
    });

    it('of two shards on one node each use the tables of their own', async () => {
      await engine.move(FIRST, 2);
      for (const shard of [FIRST, SECOND, FIRST]) expect(await nameOf(shard)).toBe(`of shard ${shard}`);
      expect(arrived()).toEqual([FIRST, SECOND, FIRST].map((shard) => routed(2, 'read', shard)));
    });

    it('are not repeated when they fail by themselves', async () => {
      await expect(database.run(failOnNode, [idOf(FIRST)])).rejects.toThrow('division by zero');
      const work = inTransaction((tx) => tx.run(fail, [idOf(FIRST)]));
      await expect(work).rejects.toThrow('division by zero');
      expect(arrived()).toEqual([routed(1, 'fail_on_node'), inside(1, 'fail')]);
    });

    it('fail while the coordinator does not answer where their shard is, and then succeed', async () => {
      let asked = 0;
      engine.coordinator.set((arriving) =>
        arriving.includes('pg_dist_placement') && asked++ === 0 ? { kind: 'reset' } : undefined,
      );
      expect(isUnanswered(await failure(nameOf(FIRST)))).toBe(true);
      expect(await nameOf(FIRST)).toBe('of shard 0');
    });
  });

  describe('a shard that has moved', () => {
    it.each([
      ['still exists', false],
      ['is dropped', true],
    ])('is followed, and not read where it was, when its old table %s', async (_, isDropped) => {
      await nameOf(FIRST);
      await engine.move(FIRST, 2, { isDropped });
      await engine.node(2).database.query(`UPDATE ${engine.table(FIRST, 'workspaces')} SET name = 'moved'`);
      arrived();
      expect(await nameOf(FIRST)).toBe('moved');
      expect(arrived()).toEqual([routed(1, 'read'), routed(2, 'read')]);
      await engine.move(FIRST, 3, { isDropped });
      expect(await writeTo(FIRST)).toBe('moved');
      expect(arrived()).toEqual([inside(3, 'add')]);
      expect(await writes(FIRST)).toEqual([0, 0, 1, 0]);
      await expectNoLeak();
    });

    it('twice while a statement is on its way, or a transaction begins, is followed twice', async () => {
      moveOnTheWay('test.read', { 1: 2, 2: 3 });
      expect(await nameOf(FIRST)).toBe('of shard 0');
      expect(arrived()).toEqual([1, 2, 3].map((node) => routed(node, 'read')));
      moveOnTheWay(BEGIN, { 3: 2, 2: 1 });
      expect(await writeTo(FIRST)).toBe('of shard 0');
      expect(arrived()).toEqual([inside(1, 'add')]);
      expect(await writes(FIRST)).toEqual([1, 0, 0, 0]);
    });

    it('three times fails the statement, or the transaction', async () => {
      moveOnTheWay('test.read', { 1: 2, 2: 3, 3: 1 });
      await expect(nameOf(FIRST)).rejects.toMatchObject(NOT_HERE);
      expect(arrived()).toEqual([1, 2, 3].map((node) => routed(node, 'read')));
      moveOnTheWay(BEGIN, { 1: 2, 2: 3, 3: 1 });
      await expect(writeTo(FIRST)).rejects.toMatchObject(NOT_HERE);
      expect(arrived()).toEqual([]);
      await expectNoLeak();
      expect(await writeTo(FIRST)).toBe('of shard 0');
    });

    /** Begins to move the first shard, and resolves when the move waits for the lock of the shard. */
    async function moving(): Promise<{ moved: Promise<void>; isOver: () => boolean }> {
      let isOver = false;
      const moved = engine.move(FIRST, 2).then(() => void (isOver = true));
      const waits = `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`;
      await engine.node(1).database.eventually(waits);
      return { moved, isOver: () => isOver };
    }

    it('waits for a transaction that has begun', async () => {
      const { moved } = await inTransaction(async (tx) => {
        await tx.run(add, [idOf(FIRST)]);
        const move = await moving();
        await tx.run(add, [idOf(FIRST)]);
        expect(move.isOver()).toBe(false);
        return move;
      });
      await moved;
      expect(await writes(FIRST)).toEqual([2, 2, 0, 0]);
      expect(arrived()).toEqual([inside(1, 'add'), inside(1, 'add')]);
    });

    it('waits for an upload that has begun', async () => {
      const { database: onNode } = engine.node(1);
      const held = await holdRow(onNode, engine.table(FIRST, 'workspaces'), 'id', idOf(FIRST));
      const uploading = upload();
      await onNode.eventually(
        `SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
         WHERE datname = current_database() AND locktype = 'transactionid' AND NOT granted`,
      );
      let moved: Promise<void>;
      try {
        ({ moved } = await moving());
      } finally {
        await held.release();
      }
      expect(await uploading).toEqual([{ counted: 1 }]);
      await moved;
      expect(await writes(FIRST)).toEqual([1, 1, 0, 0]);
    });

    it('is found by an upload before it writes anything', async () => {
      moveOnTheWay('test.count', { 1: 2 });
      expect(await upload()).toEqual([{ counted: 1 }]);
      expect(await writes(FIRST)).toEqual([0, 1, 0, 0]);
      expect(arrived()).toEqual([routed(1, 'count'), routed(2, 'count')]);
    });
  });

  describe('work that needs one node', () => {
    /** A transaction that has begun on the first node, and goes on until it is told to end. */
    async function openTransaction(): Promise<{ transaction: Promise<void>; end: () => void }> {
      let end = (): void => undefined;
      const ended = new Promise<void>((resolve) => (end = resolve));
      let transaction = Promise.resolve();
      await new Promise<void>((begun) => {
        transaction = inTransaction(() => {
          begun();
          return ended;
        });
      });
      return { transaction, end };
    }

    it('gets half of the connections at most, and other work gets the rest', async () => {
      const done: string[] = [];
      const { transaction, end } = await openTransaction();
      const timers = holdTimers(LONGEST_WAIT_MS, LONGEST_WAIT_MS); // would end waiting statements
      const asked = { transaction, statement: nameOf(FIRST), 'another transaction': writeTo(FIRST) };
      const noted = Object.entries(asked).map(([what, work]) => work.then(() => done.push(what)));
      try {
        await eventually(() => expect(database.waiting).toBe(2));
        expect([await nameOf(SECOND), await writeTo(SECOND)]).toEqual(Array(2).fill('of shard 1'));
        for (const shard of [FIRST, SECOND]) {
          await database.sharedTransaction((tx) => tx.run(read, [idOf(shard)])); // on the coordinator
          await database.run(changesOf, [idOf(shard)]);
        }
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

    it('that waits too long for its turn fails as unanswered', async () => {
      const { transaction, end } = await openTransaction();
      const timers = holdTimers(LONGEST_WAIT_MS, LONGEST_WAIT_MS);
      const refused = failure(nameOf(FIRST));
      await eventually(() => expect(database.waiting).toBe(1));
      timers.goOff();
      expect(isUnanswered(await refused)).toBe(true);
      end();
      await transaction;
      expect(await nameOf(FIRST)).toBe('of shard 0');
    });
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
      await end();
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
      expect((await database.placeOf(idOf(FIRST))).node).toMatch(/^::1:\d+$/);
    });
  });

  describe('a node that does not answer', () => {
    it('makes statements on it fail, and no others, until it answers', async () => {
      await nameOf(FIRST);
      await cut();
      for (const ask of [nameOf, writeTo, () => runOnParts(database, readAll, [])])
        expect(isUnanswered(await failure(ask(FIRST)))).toBe(true);
      expect([await nameOf(SECOND), await writeTo(SECOND)]).toEqual(Array(2).fill('of shard 1'));
      await engine.node(1).link.mend();
      expect([await nameOf(FIRST), await writeTo(FIRST)]).toEqual(Array(2).fill('of shard 0'));
      expect(await writes(FIRST)).toEqual([1, 0, 0, 0]);
      await expectNoLeak();
    });

    it('is looked up again once, and not for each statement that fails', async () => {
      await nameOf(FIRST);
      await cut();
      jest.spyOn(performance, 'now').mockReturnValue(performance.now());
      engine.coordinator.seen = [];
      for (let n = 0; n < 5; n++) expect(isUnanswered(await failure(nameOf(FIRST)))).toBe(true);
      expect(engine.coordinator.sawOf('FROM pg_dist_shard')).toHaveLength(1);
      expect(await nameOf(SECOND)).toBe('of shard 1');
    });

    async function expectFollowed(): Promise<void> {
      expect([await nameOf(FIRST), await writeTo(FIRST)]).toEqual(Array(2).fill('of shard 0'));
      expect((await database.placeOf(idOf(FIRST))).node).toBe(`127.0.0.1:${standby?.port}`);
    }

    it('because it refuses connections is replaced by a standby for the next statement', async () => {
      await nameOf(FIRST);
      await cut();
      await replace();
      expect(isUnanswered(await failure(nameOf(FIRST)))).toBe(true);
      await expectFollowed();
    });

    it('because it is silent is replaced by a standby for the next statement', async () => {
      await nameOf(SECOND);
      engine.node(1).link.silence();
      await replace();
      const timers = holdTimers(LONGEST_WAIT_MS, LONGEST_WAIT_MS);
      const asked = failure(database.run(read, [idOf(FIRST)]));
      await eventually(async () => expect(await connections()).toBe(2));
      timers.goOff();
      expect(isUnanswered(await asked)).toBe(true);
      timers.release();
      await expectFollowed();
    });

    it('is replaced by a standby for a transaction that has not yet begun', async () => {
      await nameOf(FIRST);
      await cut();
      await replace();
      expect(await writeTo(FIRST)).toBe('of shard 0');
      expect(await writes(FIRST)).toEqual([1, 0, 0, 0]);
    });
  });

  describe('a connection to a node that breaks', () => {
    it.each(BREAKS)('%s fails the upload, which is not repeated', async (_, fault, times) => {
      await upload();
      arrived();
      once(1, 'test.count', () => fault);
      expect(isUnanswered(await failure(upload()))).toBe(true);
      expect(arrived()).toEqual([routed(1, 'count')]);
      expect(await writes(FIRST)).toEqual([1 + times, 0, 0, 0]);
      await expectNoLeak();
      expect(await upload()).toEqual([{ counted: 2 + times }]);
    });

    it.each(BREAKS)(
      '%s makes the outcome of a COMMIT unknown, which is not repeated',
      async (_, fault, times) => {
        once(1, 'COMMIT', () => fault);
        await expect(writeTo(FIRST)).rejects.toBeInstanceOf(AmbiguousCommit);
        expect(arrived()).toEqual([inside(1, 'add')]);
        expect(await writes(FIRST)).toEqual([times, 0, 0, 0]);
        await expectNoLeak();
        expect(await writeTo(FIRST)).toBe('of shard 0');
      },
    );

    it.each(BREAKS)('%s before the COMMIT makes the transaction run again', async (_, fault) => {
      for (const statement of [BEGIN, 'test.add']) {
        once(1, statement, () => fault);
        expect(await writeTo(FIRST)).toBe('of shard 0');
      }
      expect(await writes(FIRST)).toEqual([2, 0, 0, 0]);
      await expectNoLeak();
    });

    it.each([
      ['by an administrator', 'FATAL', '57P01'],
      ['because it was idle in a transaction, in the language of the server', 'ВАЖНО', '25P03'],
      ['because a transaction took too long, in the language of the server', 'ВАЖНО', '25P04'],
      ['for another reason', 'FATAL', '58030'],
      ['by a crash', 'PANIC', '58030'],
    ])('after an error that ends it %s is not used again', async (_, severity, code) => {
      await nameOf(FIRST);
      once(1, 'test.read', () => ({ kind: 'end', severity, code }));
      await expect(nameOf(FIRST)).rejects.toMatchObject({ severity, code });
      expect(await nameOf(FIRST)).toBe('of shard 0');
    });

    it('while it is checked out and idle repeats the transaction, and does not end the process', async () => {
      const [pool] = await router.pools();
      const ended = new Promise<void>((resolve) =>
        pool?.once('connect', (client: PoolClient) => void client.once('end', resolve)),
      );
      let begun = 0;
      await inTransaction(async (tx) => {
        if (begun++ === 0) {
          await engine.node(1).link.cut();
          await engine.node(1).link.mend();
          await ended;
        }
        await tx.run(add, [idOf(FIRST)]);
      });
      expect(begun).toBe(2);
      expect(await writes(FIRST)).toEqual([1, 0, 0, 0]);
      await expectNoLeak();
    });
  });

  describe('work on all parts', () => {
    it('runs once on each shard, and follows one that has moved', async () => {
      const rows = await runOnParts<{ name: string }>(database, readAll, []);
      expect(rows.map(({ name }) => name).sort()).toEqual(
        [FIRST, FIRST, SECOND, SECOND].map((shard) => `of shard ${shard}`),
      );
      expect(arrived().sort()).toEqual([inside(1, 'read_all'), inside(2, 'read_all', SECOND)]);
      await engine.move(FIRST, 3);
      await runOnParts(database, addAll, []);
      expect([await writes(FIRST), await writes(SECOND)]).toEqual([
        [0, 0, 1, 0],
        [0, 1, 0, 0],
      ]);
      expect(arrived().sort()).toEqual([inside(2, 'add_all', SECOND), inside(3, 'add_all')]);
    });

    it('that fails is rolled back, and returns its connections', async () => {
      const [part] = await database.parts();
      const work = (): Promise<unknown> | undefined =>
        part?.transaction(async (tx) => {
          await tx.run(addAll, []);
          await tx.run(failAll, []);
        });
      for (let n = 0; n < FAILURES; n++) await expect(work()).rejects.toThrow('division by zero');
      expect([...(await writes(FIRST)), ...(await writes(SECOND))]).toEqual(Array(8).fill(0));
      await expectNoLeak();
    });
  });

  describe('a connection to a node is returned to its pool', () => {
    it.each([
      ['the begin of a transaction', BEGIN, writeTo],
      ['a statement of a transaction', 'test.add', writeTo],
      ['a COMMIT', 'COMMIT', writeTo],
      ['the creation of functions', 'CREATE OR REPLACE FUNCTION', upload],
      ['a statement', 'test.count', upload],
    ])('when %s fails', async (_, statement, work) => {
      engine.node(1).set((asked) => (asked.trimStart().startsWith(statement) ? FULL : undefined));
      for (let n = 0; n <= POOL; n++) await expect(work(FIRST)).rejects.toThrow(FULL.message);
      await expectNoLeak();
      engine.node(1).set();
      await work(FIRST);
      expect(await writes(FIRST)).toEqual([1, 0, 0, 0]);
    });

    it('when COMMIT does not commit, because an error was swallowed', async () => {
      const work = (): Promise<unknown> =>
        inTransaction(async (tx) => {
          await tx.run(add, [idOf(FIRST)]);
          await tx.run(fail, [idOf(FIRST)]).catch(() => undefined);
        });
      for (let n = 0; n <= POOL; n++) await expect(work()).rejects.toThrow('ended with ROLLBACK');
      await expectNoLeak();
      expect(await writes(FIRST)).toEqual([0, 0, 0, 0]);
    });

    it('when the work of a transaction fails many times', async () => {
      const work = (): Promise<unknown> =>
        inTransaction(async (tx) => {
          await tx.run(add, [idOf(FIRST)]);
          throw new Error('of the work');
        });
      for (let n = 0; n < FAILURES; n++) await expect(work()).rejects.toThrow('of the work');
      await expectNoLeak();
      expect(await writes(FIRST)).toEqual([0, 0, 0, 0]);
    });
  });

  describe('the functions of a shard', () => {
    const created = (shard: number): number =>
      engine.nodes.flatMap((node) => node.sawOf(`FUNCTION pg_temp.count_up_${engine.shardId(shard)}`)).length;

    it('are created once for each connection and shard, and not for statements that call none', async () => {
      await engine.move(SECOND, 1);
      await nameOf(FIRST);
      expect(created(FIRST)).toBe(0);
      for (const shard of [FIRST, SECOND, FIRST, SECOND, FIRST]) await upload(shard);
      expect([created(FIRST), created(SECOND), await connections()]).toEqual([1, 1, 1]);
      expect(await writes(FIRST)).toEqual([3, 0, 0, 0]);
      expect(await writes(SECOND)).toEqual([2, 0, 0, 0]);
    });

    it('are created again on a new connection', async () => {
      await upload();
      await cut();
      await engine.node(1).link.mend();
      expect(await upload()).toEqual([{ counted: 2 }]);
      expect(created(FIRST)).toBe(2);
    });

    it('are created again on a node to which the shard has moved back', async () => {
      await upload();
      await engine.move(FIRST, 2);
      await upload();
      await engine.move(FIRST, 1);
      expect(await upload()).toEqual([{ counted: 3 }]);
      expect(created(FIRST)).toBe(3);
      expect(await writes(FIRST)).toEqual([3, 2, 0, 0]);
    });
  });

  it('the connections to nodes end with the service', async () => {
    const pools = await router.pools();
    const open = (): number[] => pools.map(({ totalCount }) => totalCount);
    await nameOf(FIRST);
    await inTransaction(() => nameOf(FIRST), SECOND);
    expect(open()).toEqual([1, 1]);
    await end();
    expect(open()).toEqual([0, 0]);
    for (const { database: one } of engine.nodes)
      await one.eventually(
        `SELECT WHERE NOT EXISTS (SELECT FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'cloud-sync-service')`,
      );
  });
});

const insertInto = (table: string): string =>
  `INSERT INTO ${table} (id, user_id, name, created_at, updated_at) VALUES ($1, $1, $2, now(), now())`;

/** The error of work that has to fail. */
const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
