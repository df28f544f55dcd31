import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import WebSocket from 'ws';
import { WorkspaceAccess } from '../../../src/access/index.js';
import { requestScope } from '../../../src/platform/log.js';
import { Database } from '../../../src/platform/database/index.js';
import { PushQueue } from '../../../src/domain/devices/web-push/push-queue.js';
import type { DatabaseLink } from '../../kit/database-link.js';
import { isEngineThere } from '../../kit/distributed-database.js';
import { holdTimers } from '../../kit/held-timers.js';
import {
  eventually,
  socketUrl,
  startService,
  type TestService,
  type TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { StandInEngine } from '../../kit/stand-in-engine.js';

/** How long a statement waits for a connection. */
const PATIENCE_MS = 5_000;

/** The whole service; plain PostgreSQL databases stand in for an engine that distributes tables. */
(isEngineThere ? describe.skip : describe)('a service whose workspaces are on nodes', () => {
  let engine: StandInEngine;
  let service: TestService;
  let user: TestUser;
  /** One on each node, by the number of the shard. */
  let workspaces: TestWorkspace[];
  let standby: DatabaseLink | undefined;

  beforeAll(async () => {
    engine = await StandInEngine.create();
    service = await startService({ env: { DATABASE_URL: engine.coordinator.link.url } });
    user = await service.user('alice');
    workspaces = await Promise.all([workspaceIn(0, user), workspaceIn(1, user)]);
  });
  afterAll(async () => {
    await service?.close();
    await standby?.cut();
    await engine.close();
  });

  async function workspaceIn(shard: number, owner: TestUser): Promise<TestWorkspace> {
    for (;;) {
      const workspace = await owner.workspace();
      if (engine.shardOf(workspace.id) !== shard) continue;
      await engine.adopt(workspace.id);
      return workspace;
    }
  }

  const workspace = (shard: number): TestWorkspace => workspaces[shard] as TestWorkspace;

  /** How many versions the table of a shard on a node has. */
  async function versionsOn(number: number, shard: number): Promise<number> {
    const table = engine.table(shard, 'versions');
    return (await engine.node(number).database.query(`SELECT FROM ${table}`)).length;
  }

  it('writes and reads files in the tables of the shard alone', async () => {
    for (const shard of [0, 1]) {
      await workspace(shard).put('a', `of shard ${shard}`).expect(201);
      const { text, body } = await user.get(workspace(shard).file('a')).expect(200);
      expect(String(text || body)).toBe(`of shard ${shard}`);
      expect(await versionsOn(shard + 1, shard)).toBe(1);
    }
    expect(await engine.coordinator.database.query('SELECT FROM files')).toEqual([]);
  });

  it('checks the accounts of callers outside the queue of any user', async () => {
    const access = service.app.get(WorkspaceAccess, { strict: false });
    const areAdmitted = access.areAdmitted.bind(access);
    const scopes: unknown[] = [];
    const looked = jest.spyOn(access, 'areAdmitted').mockImplementation((callers) => {
      scopes.push(requestScope.getStore());
      return areAdmitted(callers);
    });
    await user.get(workspace(0).file('a')).expect(200);
    looked.mockRestore();
    expect(scopes).toEqual([undefined]);
  });

  it('stores each upload once while its shard moves', async () => {
    const before = await versionsOn(1, 0);
    const puts = Array.from({ length: 10 }, (_, n) => workspace(0).put('moving', `version ${n}`));
    const [answers] = await Promise.all([Promise.all(puts), engine.move(0, 2), engine.move(1, 1)]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 201]));
    expect(await versionsOn(2, 0)).toBe(before + answers.length);
    await engine.move(0, 1);
    await engine.move(1, 2);
  });

  it('stores an upload once when the answer of the node is lost', async () => {
    const before = await versionsOn(1, 0);
    let cuts = 0;
    engine
      .node(1)
      .set((asked) =>
        asked.startsWith('files.put_on_node') && cuts++ === 0 ? { kind: 'cut after sending' } : undefined,
      );
    const { headers } = await workspace(0).put('lost', 'answer').expect(503);
    expect(headers['retry-after']).toMatch(/^\d+$/);
    expect(await versionsOn(1, 0)).toBe(before + 1);
    await workspace(0).put('lost', 'answer').expect(200);
    expect(await versionsOn(1, 0)).toBe(before + 1);
  });

  it('answers requests that need no node or another node while one node does not answer', async () => {
    const others = await Promise.all(['bob', 'carol'].map((name) => service.user(name)));
    const here = [workspace(0), ...(await Promise.all(others.map((one) => workspaceIn(0, one))))];
    const elsewhere = await workspaceIn(1, others[0] as TestUser);
    for (const one of here)
      await one.put('a', 'before').expect(({ status }) => expect(status).toBeLessThan(300));
    let release = (): void => undefined;
    const until = new Promise<void>((resolve) => (release = resolve));
    engine.node(1).set(() => ({ kind: 'hold', until }));
    const timers = holdTimers(PATIENCE_MS, PATIENCE_MS); // would end held requests
    let answered = 0;
    const held = here.flatMap((one) =>
      Array.from({ length: 10 }, async () => {
        const { status } = await one.get('a');
        answered++;
        return status;
      }),
    );
    try {
      const database = service.app.get(Database);
      await eventually(() => expect(database.waiting).toBeGreaterThanOrEqual(15));
      await elsewhere.put('b', 'meanwhile').expect(201);
      await elsewhere.get('b').expect(200);
      await user.get('/api/v1/workspaces').expect(200);
      await service.user('newcomer-meanwhile');
      await workspace(1).put('b', 'meanwhile').expect(201);
      expect(answered).toBe(0);
    } finally {
      timers.release();
      release();
      engine.node(1).set();
    }
    expect(new Set(await Promise.all(held))).toEqual(new Set([200]));
  });

  it('keeps the pushes that it has claimed on one node when the next node fails', async () => {
    const queue = service.app.get(PushQueue, { strict: false });
    const claim = async (): Promise<string[]> =>
      (await queue.claim(10, 10, new Map())).map(({ workspaceId }) => workspaceId);
    const makeDue = async (): Promise<void> => {
      for (const shard of [0, 1])
        await engine.node(shard + 1).database.query(
          `INSERT INTO ${engine.table(shard, 'push_subscriptions')}
             (workspace_id, device_id, endpoint, p256dh, auth, updated_at, pending_changes, due_at)
           VALUES ($1, 'phone', 'https://push.example/', repeat('a', 87), repeat('a', 22), now(), true, '2020-01-01')
           ON CONFLICT (workspace_id, device_id) DO UPDATE SET pending_changes = true, due_at = '2020-01-01'`,
          [workspace(shard).id],
        );
    };
    await makeDue();
    const [first, next] = (await claim()) as [string, string]; // in the order of the parts
    await makeDue();
    const failing = engine.node(engine.shardOf(next) + 1);
    failing.set((asked) =>
      asked.startsWith('push_queue.claim')
        ? { kind: 'refuse', code: '53100', message: 'No space left on device' }
        : undefined,
    );
    expect(await claim()).toEqual([first]);
    expect(service.logged()).toContain('could not claim pushes on all nodes');
    await expect(claim()).rejects.toThrow('No space left on device');
    failing.set();
    expect(await claim()).toEqual([next]);
  });

  it('answers 503 where a node is away, and serves others, until a standby replaces it', async () => {
    const fresh = await workspaceIn(1, user); // not known to the service yet
    await engine.lose(1);
    const lists = ['/api/v1/workspaces', '/api/v1/usage'];
    for (let n = 0; n < 3; n++)
      for (const refused of [
        workspace(0).put('a', 'while it is away'),
        user.get(workspace(0).file('a')),
        user.get(`${workspace(0).path}/sync/status`),
        user.delete(workspace(0).file('a')),
        ...lists.map((path) => user.get(path)),
      ]) {
        const { status, headers } = await refused;
        expect([status, headers['retry-after']]).toEqual([503, expect.stringMatching(/^\d+$/)]);
      }
    const upgrade = new WebSocket(socketUrl(service.url, workspace(0).id, user.token));
    const [, { statusCode, headers }] = (await once(upgrade, 'unexpected-response')) as [
      unknown,
      IncomingMessage,
    ];
    expect([statusCode, headers['retry-after']]).toEqual([503, expect.stringMatching(/^\d+$/)]);
    upgrade.on('error', () => undefined).terminate();
    await workspace(1).put('a', 'while the other is away').expect(200);
    await user.get(workspace(1).file('a')).expect(200);
    await fresh.put('a', 'while the other is away').expect(201);
    await service.user('newcomer');

    standby = await engine.replace(1);
    await eventually(async () => workspace(0).put('a', 'on the standby').expect(200));
    await user.get(workspace(0).file('a')).expect(200);
    await user.get('/api/v1/workspaces').expect(200);
  });
});
