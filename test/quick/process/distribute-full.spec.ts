import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DISTRIBUTED_TABLES } from '../../../src/platform/database/index.js';
import { isEngineThere } from '../../kit/distributed-database.js';
import { createDatabase, startService, type TestDatabase } from '../../kit/index.js';
import { ROOT } from '../../kit/deployment.js';
import { environment, runProcess } from '../../kit/process.js';

const DISTRIBUTE = 'dist/src/operations/admin/distribute.js';
const TABLES = [
  'users',
  'subscriptions',
  ...DISTRIBUTED_TABLES.map(({ table }) => table),
  'access_tokens',
  'devices',
];
const AUTH_SECRET = 'of a database that is distributed when it is full';

/** Each run that is killed completes at least one more step, so the loop ends well before this. */
const MOST_RUNS = 40;

/** The number of rows and a checksum, for each table. */
async function rowsOf(database: TestDatabase): Promise<Map<string, unknown>> {
  const rows = new Map<string, unknown>();
  for (const table of TABLES) {
    const sum = `SELECT count(*) AS rows, sum(('x' || substr(md5(t::text), 1, 8))::bit(32)::bigint) AS sum FROM ${table} t`;
    rows.set(table, await database.query(sum));
  }
  return rows;
}

async function fill(database: TestDatabase, env: Record<string, string>): Promise<void> {
  const service = await startService({ env });
  for (const name of ['anna', 'bert', 'cleo']) {
    const user = await service.user(name);
    const workspace = await user.workspace();
    for (let n = 0; n < 40; n++)
      await workspace.put(`file-${n % 10}`, `${name} ${n}`).expect(n < 10 ? 201 : 200);
    await workspace.delete('file-3').expect(200);
    await workspace.checkpoint();
  }
  await service.close();
  await database.query('UPDATE instances SET alive_until = now()');
}

(isEngineThere ? describe : describe.skip)('npm run distribute on a database with rows', () => {
  let database: TestDatabase;
  let env: { DATABASE_URL: string; DATA_DIR: string; AUTH_SECRET: string };
  beforeEach(async () => {
    database = await createDatabase({ isEmpty: true });
    const DATA_DIR = await mkdtemp(join(tmpdir(), 'sync-distribute-'));
    env = { DATABASE_URL: database.url, DATA_DIR, AUTH_SECRET };
    await fill(database, env);
  });
  afterEach(async () => {
    await database.drop();
    await rm(env.DATA_DIR, { recursive: true, force: true });
  });

  const run = (...args: string[]): ReturnType<typeof runProcess> =>
    runProcess({}, DISTRIBUTE, ['--database-url', database.url, ...args]);

  it('keeps every row, and has nothing to do the next time', async () => {
    const before = await rowsOf(database);
    const dry = await run('--dry-run');
    expect([dry.code, dry.output]).toEqual([0, expect.stringContaining('nothing was changed')]);
    expect(await rowsOf(database)).toEqual(before);
    expect(await run()).toMatchObject({ code: 0 });
    expect(await rowsOf(database)).toEqual(before);
    expect((await run()).output).toContain('Nothing to do');

    await database.query('DROP TABLE mail_queue, mail_links, mail_notices, muted_notices');
    await database.query(`DELETE FROM migrations WHERE name LIKE 'Mail%'`);
    expect((await run('--dry-run')).output).toContain('migrate them to this version');
    expect((await run()).output).toContain('1 steps done');
  });

  it('finishes when it is repeated after a kill at each of its steps, and keeps every row', async () => {
    const before = await rowsOf(database);
    for (let runs = 0; await isKilledAtItsFirstStep(); runs++) expect(runs).toBeLessThan(MOST_RUNS);
    expect((await run()).output).toContain('Nothing to do');
    expect(await rowsOf(database)).toEqual(before);
  }, 1_200_000);

  it('distributes a new table while previous instances run; new ones start only afterwards', async () => {
    expect(await run()).toMatchObject({ code: 0 });
    await database.query('DROP TABLE retention_marks');
    await database.query(`CREATE TABLE retention_marks (
      workspace_id uuid PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
      cursor bigint NOT NULL, rule text NOT NULL, has_unpinned boolean NOT NULL DEFAULT false)`);
    await expect(startService({ env })).rejects.toThrow('not yet distributed for this version');
    const running = `INSERT INTO instances (id, alive_until) VALUES (gen_random_uuid(), now() + interval '1 hour')`;
    await database.query(running);
    expect(await run()).toMatchObject({ code: 0, output: expect.stringContaining('1 steps done') as string });
    await (await startService({ env })).close();

    await database.query('DROP TABLE shared_commits; CREATE TABLE shared_commits (id integer PRIMARY KEY)');
    await database.query(running);
    expect(await run()).toMatchObject({
      code: 1,
      output: expect.stringContaining('stop all instances') as string,
    });
  });

  /** Kills a run as soon as it has printed a step. @returns false when it had nothing to do */
  async function isKilledAtItsFirstStep(): Promise<boolean> {
    const child = spawn(process.execPath, [join(ROOT, DISTRIBUTE), '--database-url', database.url], {
      env: environment({}),
    });
    let output = '';
    child.stderr.on('data', (chunk: Buffer) => (output += String(chunk)));
    child.stdout.on('data', (chunk: Buffer) => {
      output += String(chunk);
      child.kill('SIGKILL');
    });
    const [code] = (await once(child, 'close')) as [number | null];
    expect([code === null || output.startsWith('Nothing to do'), output]).toEqual([true, output]);
    return !output.startsWith('Nothing to do');
  }
});
