import { randomUUID } from 'node:crypto';
import { Database, statement } from '../../../src/platform/database/index.js';
import { NightlyJobs } from '../../../src/platform/jobs/index.js';
import { startService, type TestService, TestSocket, type TestWorkspace } from '../../kit/index.js';
import { expectDenseLogs, expectReplayLaw } from '../../kit/oracles.js';
import { startPooler, type TestPooler } from '../../kit/pooler.js';
import { describeWithTestServers } from '../../kit/test-servers.js';

/** Settings that an operator may have made for other applications on the same server. */
const SETTINGS = {
  default_transaction_isolation: 'serializable',
  synchronous_commit: 'off',
  datestyle: 'German',
  timezone: 'Asia/Kathmandu',
  intervalstyle: 'sql_standard',
  bytea_output: 'escape',
  plan_cache_mode: 'force_custom_plan',
  idle_session_timeout: '1s',
  transaction_timeout: '5s', // since PostgreSQL 17
};
const howDurable = statement('test.how_durable', `SELECT current_setting('synchronous_commit') AS setting`);
const howLong = statement('test.how_long', `SELECT current_setting('statement_timeout') AS "limit"`);
const howLongTogether = statement(
  'test.how_long_together',
  `SELECT coalesce(current_setting('transaction_timeout', true), '0') AS "limit"`,
);
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let home: TestService;
let first: TestService;
let second: TestService;
beforeAll(async () => {
  home = await startService();
  const known = await home.database.query<{ name: string }>('SELECT name FROM pg_settings');
  for (const [name, value] of Object.entries(SETTINGS)) {
    if (!known.some((one) => one.name === name)) continue;
    await home.database.query(`ALTER DATABASE ${home.database.name} SET ${name} = '${value}'`);
  }
  first = await startService({ beside: home });
  second = await startService({ beside: home });
});
afterAll(async () => {
  for (const service of [second, first, home]) await service.close();
});

async function workspaces(name: string): Promise<[TestWorkspace, TestWorkspace]> {
  const workspace = await (await first.user(name)).workspace();
  return [workspace, workspace.as(workspace.user.at(second.url))];
}

describe('on a server with unusual settings', () => {
  it('writes of two instances to one workspace all succeed, one after the other', async () => {
    const both = await workspaces('alice');
    const upload = (i: number): PromiseLike<{ status: number }> =>
      both[i % 2]!.put(`path${i % 25}`, `text ${i}`);
    const uploads = await Promise.all(Array.from({ length: 100 }, (_, i) => upload(i)));
    expect(uploads.map(({ status }) => status).filter((status) => status !== 200 && status !== 201)).toEqual(
      [],
    );
    await Promise.all(Array.from({ length: 20 }, (_, i) => both[i % 2]!.checkpoint()));
    await expectReplayLaw(both[0]);
    await expectDenseLogs(home.database);
  });

  it('a commit waits for the disk', async () => {
    const [row] = await first.app.get(Database).run(howDurable, []);
    expect(row).toEqual({ setting: 'on' });
  });

  it('a transaction may last as long as its statements', async () => {
    expect(await first.app.get(Database).run(howLongTogether, [])).toEqual([{ limit: '0' }]);
  });

  it('times in answers have the usual format and are current', async () => {
    const [workspace] = await workspaces('bob');
    await workspace.put('note', 'text');
    const [change] = await workspace.log();
    const [version] = await workspace.versions('note');
    for (const time of [change!.changedAt, version!.created_at]) {
      expect(time).toMatch(ISO);
      expect(Math.abs(Date.parse(time) - first.clock.now().getTime())).toBeLessThan(60_000);
    }
  });
});

describe('the planner settings of projections and nightly jobs', () => {
  const POOL_SIZE = 2;
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ beside: home, env: { DATABASE_POOL_SIZE: String(POOL_SIZE) } });
  });
  afterAll(() => service.close());

  /** The session settings of each connection of the pool. */
  async function settings(): Promise<object[][]> {
    const { pool } = service.app.get(Database);
    const clients = await Promise.all(Array.from({ length: POOL_SIZE }, () => pool.connect()));
    try {
      const text = `SELECT name, setting FROM pg_settings WHERE source = 'session' ORDER BY name`;
      return await Promise.all(clients.map(async (client) => (await client.query<object>(text)).rows));
    } finally {
      for (const client of clients) client.release();
    }
  }

  it('end with their transactions', async () => {
    const workspace = await (await service.user('dave')).workspace();
    await workspace.put('note', 'text');
    await workspace.put('note', 'another text');
    const { id } = await workspace.checkpoint();
    const before = await settings();
    expect(before[0]).toContainEqual({ name: 'plan_cache_mode', setting: 'force_generic_plan' });

    const paths = [`${id}/summary`, `${id}/restore-manifest`].map(
      (of) => `${workspace.path}/checkpoints/${of}`,
    );
    await Promise.all([...paths, ...paths].map((path) => workspace.user.get(path).expect(200)));
    await workspace.user.get(`${workspace.path}/checkpoints/${randomUUID()}/summary`).expect(404);
    await service.app.get(NightlyJobs).run();
    expect(await settings()).toEqual(before);
  });
});

describeWithTestServers('behind a pooler in session mode', () => {
  let pooler: TestPooler;
  let pooled: TestService;
  beforeAll(async () => {
    pooler = await startPooler(home.database);
    pooled = await startService({ beside: home, env: { DATABASE_URL: pooler.url } });
  });
  afterAll(async () => {
    await pooled.close();
    await pooler.stop();
  });

  it('the service writes, reads, notifies other instances and runs jobs', async () => {
    const [workspace] = await workspaces('carol');
    const socket = await TestSocket.join(workspace, 'listener');
    const here = workspace.as(workspace.user.at(pooled.url));
    await here.put('note', 'text').expect(201);
    expect(await here.log()).toHaveLength(1);
    await socket.frame('changes');
    await socket.close();
    await pooled.app.get(NightlyJobs).run();
    expect(await home.database.query(`SELECT error FROM job_runs`)).toContainEqual({ error: null });
  });

  it('statements keep their time limit', async () => {
    const [row] = await pooled.app.get(Database).run<{ limit: string }>(howLong, []);
    expect(row).toEqual({ limit: '10s' });
  });
});
