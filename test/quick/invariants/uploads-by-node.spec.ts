import { v7 as uuidv7 } from 'uuid';
import { WorkspaceClosed } from '../../../src/access/index.js';
import { DocumentQuota } from '../../../src/domain/files/document-quota.js';
import { GroupCommitQueue } from '../../../src/domain/files/group-commit-queue.js';
import { type Put, UploadWriter } from '../../../src/domain/files/upload-writer.js';
import { type Nodes, NODES } from '../../../src/platform/database/distribution/index.js';
import { isUnanswered } from '../../../src/platform/database/index.js';
import { InsufficientStorage } from '../../../src/platform/http/index.js';
import type { DatabaseFault } from '../../kit/database-link.js';
import { isEngineThere } from '../../kit/distributed-database.js';
import { heldOpen } from '../../kit/hold.js';
import {
  eventually,
  holdRow,
  startService,
  type TestService,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { waitPatientlyIn } from '../../kit/patient-locks.js';
import { StandInEngine } from '../../kit/stand-in-engine.js';
import { putOf } from '../../kit/put.js';

const QUOTA = 1_000;
const OF_EACH_SHARD = 5;
const CREATED = { outcome: 'created' };
const TOGETHER = 'files.put_together';

/** When the connection breaks during a commit, and how often the uploads are then stored. */
const BREAKS: [string, DatabaseFault, number][] = [
  ['before it arrives', { kind: 'reset' }, 0],
  ['after it is done', { kind: 'cut after sending' }, 1],
];

/** The whole service; plain PostgreSQL databases stand in for an engine that distributes tables. */
(isEngineThere ? describe.skip : describe)('uploads to workspaces on nodes', () => {
  let engine: StandInEngine;
  let service: TestService;
  let writer: UploadWriter;
  let queue: GroupCommitQueue;
  /** By the number of the shard; each workspace has an owner of its own. */
  const workspaces: [TestWorkspace[], TestWorkspace[]] = [[], []];

  beforeAll(async () => {
    engine = await StandInEngine.create();
    const env = { DATABASE_URL: engine.coordinator.link.url, DOCUMENT_QUOTA_PRO_BYTES: '0' };
    service = await startService({ env });
    writer = service.app.get(UploadWriter);
    queue = service.app.get(GroupCommitQueue);
    for (let n = 0; workspaces.some((some) => some.length < OF_EACH_SHARD); n++)
      await addOf(await service.user(`user-${n}`));
    for (const pool of await service.app.get<Nodes>(NODES).pools()) await waitPatientlyIn(pool);
  });
  afterAll(async () => {
    await service?.close();
    await engine.close();
  });
  afterEach(async () => {
    for (const node of engine.nodes) node.set();
    await eventually(async () => {
      for (const pool of await service.app.get<Nodes>(NODES).pools())
        expect([pool.idleCount, pool.waitingCount]).toEqual([pool.totalCount, 0]);
    });
  });

  async function addOf(user: TestUser): Promise<TestWorkspace> {
    const workspace = await user.workspace();
    await engine.adopt(workspace.id);
    workspaces[engine.shardOf(workspace.id) as 0 | 1].push(workspace);
    return workspace;
  }

  const at = (shard: 0 | 1, nth: number): TestWorkspace => workspaces[shard][nth] as TestWorkspace;
  const some = (shard: 0 | 1 = 0): TestWorkspace[] => workspaces[shard].slice(0, OF_EACH_SHARD - 1);

  const putTo = (notes: TestWorkspace, path: string): Put => putOf(service, notes, path);

  /** By the number of the shard. */
  const placed = [1, 2];
  async function move(shard: 0 | 1, to: number): Promise<void> {
    if (placed[shard] !== to) await engine.move(shard, to);
    placed[shard] = to;
  }

  /** Moves shard 0 to the first node and shard 1 to the second, and lets the service learn of it. */
  async function place(first: number, second: number): Promise<void> {
    await move(0, first);
    await move(1, second);
    for (const shard of [0, 1] as const) await opened(shard);
    for (const { id } of workspaces.flat()) await writer.partOf(id);
    for (const node of engine.nodes) node.seen = [];
  }

  /** An upload that is committed alone, because nothing else is under way. */
  const opened = (shard: 0 | 1): Promise<unknown> => queue.put(putTo(at(shard, OF_EACH_SHARD - 1), uuidv7()));

  /** Uploads to one shard that share a commit, because they arrive while one is under way. */
  async function shared(puts: readonly Put[], shard: 0 | 1 = 0): Promise<PromiseSettledResult<unknown>[]> {
    const opening = opened(shard);
    const all = await Promise.allSettled(puts.map((put) => queue.put(put)));
    await opening;
    return all;
  }

  const fulfilled = (puts: readonly unknown[]): object[] =>
    puts.map(() => ({ status: 'fulfilled', value: CREATED }));

  /** How often each upload was written, on the node where its workspace is now. */
  async function timesOf(puts: readonly Put[]): Promise<number[]> {
    const times: number[] = [];
    for (const { workspaceId, contentHash } of puts) {
      const shard = engine.shardOf(workspaceId);
      const rows = await engine
        .node(placed[shard] ?? 0)
        .database.query(
          `SELECT FROM ${engine.table(shard, 'changes')} WHERE workspace_id = $1 AND content_hash = $2`,
          [workspaceId, contentHash],
        );
      times.push(rows.length);
    }
    return times;
  }

  const togetherOn = (number: number): number => engine.node(number).sawOf(TOGETHER).length;

  it('share a commit with those to other workspaces of their shard', async () => {
    await place(1, 2);
    const puts = [...some(0), ...some(1)].map((one) => putTo(one, 'shared'));
    const opening = Promise.all([opened(0), opened(1)]);
    expect(await Promise.all(puts.map((put) => queue.put(put)))).toMatchObject(puts.map(() => CREATED));
    await opening;
    expect([togetherOn(1), togetherOn(2)]).toEqual([1, 1]);
    expect(await timesOf(puts)).toEqual(puts.map(() => 1));
  });

  it('are each stored once when their shard has moved', async () => {
    await place(1, 2);
    await move(0, 2);
    const puts = some().map((one) => putTo(one, 'moved'));
    expect(await writer.writeUnlocked(puts)).toMatchObject(puts.map(() => CREATED));
    expect([togetherOn(1), togetherOn(2)]).toEqual([1, 1]);
    expect(await timesOf(puts)).toEqual(puts.map(() => 1));
  });

  it('do not wait for a locked workspace, whose upload is stored once the lock is released', async () => {
    await place(1, 2);
    const [opened, locked, ...others] = some().map((one) => putTo(one, 'locked')) as [Put, Put, ...Put[]];
    const { database } = engine.node(1);
    const held = await holdRow(database, engine.table(0, 'workspaces'), 'id', locked.workspaceId);
    try {
      expect(await writer.writeUnlocked([opened, locked])).toMatchObject([CREATED, undefined]);
      const waiting = shared([locked, others[0] as Put]);
      expect(await shared(others.slice(1))).toMatchObject(fulfilled(others.slice(1)));
      expect(await timesOf([locked])).toEqual([0]);
      await held.release();
      expect(await waiting).toMatchObject(fulfilled([1, 2]));
    } finally {
      await held.release();
    }
    expect(await timesOf([opened, locked, ...others])).toEqual([1, 1, 1, 1]);
  });

  it('are refused one by one for a deleted workspace and a suspended user', async () => {
    await place(1, 2);
    const puts = some().map((one) => putTo(one, 'closed'));
    const [deleted, suspended] = [at(0, 0), at(0, 1)];
    const mark = (to: string): Promise<unknown[]> =>
      engine
        .node(1)
        .database.query(`UPDATE ${engine.table(0, 'workspaces')} SET deleted_at = ${to} WHERE id = $1`, [
          deleted.id,
        ]);
    const suspend = (to: string): Promise<unknown[]> =>
      engine.coordinator.database.query(`UPDATE users SET suspended_at = ${to} WHERE id = $1`, [
        suspended.user.id,
      ]);
    await mark('now()');
    await suspend('now()');
    expect(await writer.writeUnlocked(puts)).toMatchObject([undefined, undefined, CREATED, CREATED]);
    const again = some().map((one) => putTo(one, 'closed-again'));
    const refused = { status: 'rejected', reason: expect.any(WorkspaceClosed) };
    expect(await shared(again)).toMatchObject([refused, refused, ...fulfilled([2, 3])]);
    await mark('NULL');
    await suspend('NULL');
    expect(await timesOf([...puts, ...again])).toEqual([0, 0, 1, 1, 0, 0, 1, 1]);
    expect(await shared(puts.slice(0, 2))).toMatchObject(fulfilled([0, 1]));
    expect(await timesOf(puts)).toEqual([1, 1, 1, 1]);
  });

  it('are all rolled back when one fails, and then all others are stored', async () => {
    await place(1, 2);
    const { query } = engine.node(1).database;
    const table = engine.table(0, 'files');
    await query(`ALTER TABLE ${table} ADD CONSTRAINT refused CHECK (encrypted_path <> 'poison')`);
    const puts = some().map((one, n) => putTo(one, n === 1 ? 'poison' : 'beside'));
    try {
      await expect(writer.writeUnlocked(puts)).rejects.toMatchObject({ code: '23514' });
      expect(await timesOf(puts)).toEqual([0, 0, 0, 0]);
      const all = await shared(puts);
      expect(all).toMatchObject([...fulfilled([0]), { status: 'rejected' }, ...fulfilled([2, 3])]);
      expect(await timesOf(puts)).toEqual([1, 0, 1, 1]);
    } finally {
      await query(`ALTER TABLE ${table} DROP CONSTRAINT refused`);
    }
  });

  it.each(BREAKS)('are not acknowledged when their commit is lost %s', async (when, fault, times) => {
    await place(1, 2);
    let broken = 0;
    engine.node(1).set((asked) => (asked.startsWith(TOGETHER) && broken++ === 0 ? fault : undefined));
    const puts = some().map((one) => putTo(one, `lost-${when.replaceAll(' ', '-')}`));
    const outcomes = await shared(puts);
    expect(outcomes.map((one) => one.status === 'rejected' && isUnanswered(one.reason))).toEqual(
      puts.map(() => true),
    );
    expect(await timesOf(puts)).toEqual(puts.map(() => times));
    const value = { outcome: times === 0 ? 'created' : 'unchanged' };
    expect(await shared(puts.map((put) => ({ ...put, blobId: uuidv7() })))).toMatchObject(
      puts.map(() => ({ status: 'fulfilled', value })),
    );
    expect(await timesOf(puts)).toEqual([1, 1, 1, 1]);
  });

  it('wait only for a move of their own shard', async () => {
    await place(1, 1);
    const release = await heldOpen(engine.node(1).database, 'SELECT pg_advisory_xact_lock($1)', [
      engine.shardId(1),
    ]);
    const [held, others] = [1, 0].map((shard) =>
      some(shard as 0 | 1).map((one) => putTo(one, 'beside-a-move')),
    ) as [Put[], Put[]];
    try {
      const waiting = held.map((put) => queue.put(put));
      expect(await shared(others)).toMatchObject(fulfilled(others));
      expect(await timesOf(held)).toEqual([0, 0, 0, 0]);
      await release();
      expect(await Promise.all(waiting)).toMatchObject(held.map(() => CREATED));
    } finally {
      await release().catch(() => undefined);
    }
    expect(await timesOf([...held, ...others])).toEqual(Array(8).fill(1));
  });

  it('wait only for their own node', async () => {
    await place(1, 2);
    engine.node(1).set((asked) => (asked.startsWith('files.put_') ? { kind: 'blackhole' } : undefined));
    const [silent, others] = [0, 1].map((shard) =>
      some(shard as 0 | 1).map((one) => putTo(one, 'beside-silence')),
    ) as [Put[], Put[]];
    const opening = opened(0).catch((error: unknown) => error);
    const waiting = Promise.allSettled(silent.map((put) => queue.put(put)));
    expect(await shared(others, 1)).toMatchObject(fulfilled(others));
    await eventually(() => expect(togetherOn(1)).toBe(1)); // both commits are under way
    await engine.node(1).link.cut();
    engine.node(1).set();
    await engine.node(1).link.mend();
    for (const one of [
      await opening,
      ...(await waiting).map((one) => one.status === 'rejected' && one.reason),
    ])
      expect(isUnanswered(one)).toBe(true);
    expect(await timesOf([...silent, ...others])).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
  });

  it('of a batch each fail as unanswered when the coordinator does not locate them', async () => {
    const workspaceId = uuidv7(); // not known to the service yet
    engine.coordinator.set((asked) => (asked === 'distribution.shard_of' ? { kind: 'reset' } : undefined));
    const puts = ['a', 'b'].map((path) => ({ ...putTo(at(0, 0), path), workspaceId }));
    const outcomes = await queue.putAll(puts);
    engine.coordinator.set();
    expect(outcomes.map((one) => one.status === 'rejected' && isUnanswered(one.reason))).toEqual([
      true,
      true,
    ]);
  });

  describe('within the quota', () => {
    /** Two workspaces of one owner, each on another node. */
    let here: TestWorkspace;
    let there: TestWorkspace;

    beforeAll(async () => {
      await place(1, 2);
      const user = await service.user('of-several');
      const made = [await addOf(user)];
      while (new Set(made.map(({ id }) => engine.shardOf(id))).size < 2) made.push(await addOf(user));
      [here, there] = [0, 1].map((shard) => made.find(({ id }) => engine.shardOf(id) === shard)) as [
        TestWorkspace,
        TestWorkspace,
      ];
    });
    beforeEach(() => jest.spyOn(DocumentQuota.prototype, 'ofUploads', 'get').mockReturnValue(QUOTA));
    afterEach(() => jest.restoreAllMocks());

    /** Sets how many bytes the workspace on the other node has, as the coordinator knows it. */
    const hold = (bytes: number): Promise<unknown[]> =>
      engine.coordinator.database.query('UPDATE workspaces SET document_bytes = $1 WHERE id = $2', [
        bytes,
        there.id,
      ]);
    const passTime = (ms: number): void => {
      const now = performance.now() + ms;
      jest.spyOn(performance, 'now').mockReturnValue(now);
    };
    const tried = (): Promise<unknown[]> =>
      writer.writeUnlocked([putTo(here, uuidv7()), putTo(at(0, 1), uuidv7())]);

    it('leave out an owner whose usage on other nodes is unknown or a minute old', async () => {
      await hold(100);
      passTime(60_000);
      expect(await tried()).toEqual([undefined, undefined]);
      expect(await queue.put(putTo(here, 'asked'))).toMatchObject(CREATED);
      expect(await tried()).toMatchObject([CREATED, undefined]);
      passTime(60_000);
      expect(await tried()).toEqual([undefined, undefined]);
    });

    it('leave out an owner near the quota, who is judged by the usage of all workspaces', async () => {
      await hold(QUOTA - 1);
      passTime(120_000);
      await queue.put(putTo(at(0, 1), 'asked'));
      await expect(queue.put(putTo(here, 'too-much'))).rejects.toBeInstanceOf(InsufficientStorage);
      expect(await tried()).toMatchObject([undefined, CREATED]);
      await hold(0);
      expect(await queue.put(putTo(here, 'room-again'))).toMatchObject(CREATED);
    });

    it('use the last known usage when other nodes do not answer, and fail with other errors', async () => {
      await hold(QUOTA - 1);
      passTime(240_000);
      await expect(queue.put(putTo(here, 'asked-before'))).rejects.toBeInstanceOf(InsufficientStorage);
      const refuse = (code: string): void =>
        engine.coordinator.set((asked) =>
          asked === 'files.held_elsewhere' ? { kind: 'refuse', code, message: 'no' } : undefined,
        );
      refuse('57014');
      await expect(queue.put(putTo(here, 'timed-out'))).rejects.toMatchObject({ code: '57014' });
      refuse('08006');
      await expect(queue.put(putTo(here, 'unanswered'))).rejects.toBeInstanceOf(InsufficientStorage);
      engine.coordinator.set();
      await hold(0);
      expect(await queue.put(putTo(here, 'answered'))).toMatchObject(CREATED);
    });

    it('count the usage of workspaces on other nodes', async () => {
      await hold(QUOTA / 2 - 1);
      passTime(300_000);
      for (const one of [here, at(0, 1)]) await queue.put(putTo(one, 'known'));
      const large = { ...putTo(here, 'large'), size: QUOTA / 2 };
      expect(await writer.writeUnlocked([large, putTo(at(0, 1), uuidv7())])).toMatchObject([
        { outcome: 'quota_exceeded' },
        CREATED,
      ]);
      expect(await timesOf([large])).toEqual([0]);
    });
  });
});
