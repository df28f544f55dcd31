import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Report } from '../../../src/operations/admin/with-service.js';
import { adminReport } from '../../kit/admin.js';
import {
  createDatabase,
  startService,
  type TestDatabase,
  TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import type { ProcessEnv } from '../../kit/process.js';
import { putBack } from '../../kit/put-back.js';

const LEAST_GAP = 1_000_000;
const REPLICATED = 3;

let home: string;
let database: TestDatabase;
let env: ProcessEnv;
let notes: TestWorkspace;
/** The time up to which the standby has everything. */
let since: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sync-failover-'));
  database = await createDatabase();
  env = { DATABASE_URL: database.url, DATA_DIR: home, AUTH_SECRET: 'the same secret on every instance' };
  const primary = await startService({ env });
  notes = await (await primary.user('alice')).workspace();
  for (let file = 0; file < REPLICATED; file++) await notes.put(`file-${file}`, 'replicated').expect(201);
  since = new Date().toISOString();
  for (const file of ['lost', 'lost-too']) await notes.put(file, 'not replicated').expect(201);
  await putBack({ database }, notes.id, REPLICATED);
  await database.query('UPDATE workspaces SET head_cursor = $1', [REPLICATED]); // a standby knows of no gap
  await expect(failover()).rejects.toMatchObject({
    name: 'OperatorError',
    message: expect.stringMatching(
      /^A service is running on this database; stop all instances first\./,
    ) as string,
  });
  await primary.close();
});
afterAll(async () => {
  await database.drop();
  await rm(home, { recursive: true, force: true });
});

const failover = (...options: string[]): Promise<Report> =>
  adminReport(env, 'failover', '--since', since, ...options);

async function head(): Promise<number> {
  const [row] = await database.query<{ head: number }>('SELECT head_cursor::int AS head FROM workspaces');
  return row?.head ?? NaN;
}

const events = (): Promise<{ details: object }[]> =>
  database.query(`SELECT details FROM audit_events WHERE action = 'failover.handled' ORDER BY id`);

describe('admin failover', () => {
  it('reports with --dry-run what it would do, and changes nothing', async () => {
    const { text, ...report } = await failover('--dry-run');
    expect(report).toMatchObject({ dryRun: true, changed: true, workspaces: 1 });
    expect(report['gap']).toBeGreaterThanOrEqual(LEAST_GAP);
    expect(text).toBe(`The heads of 1 workspaces would be advanced by ${String(report['gap'])}`);
    expect([await head(), await events()]).toEqual([REPLICATED, []]);
  });

  it('refuses a time in the future', async () => {
    const future = new Date(Date.now() + 3_600_000).toISOString();
    await expect(adminReport(env, 'failover', '--since', future)).rejects.toThrow(
      '--since is in the future.',
    );
    expect(await head()).toBe(REPLICATED);
  });

  it('advances the heads, and records that in the audit log', async () => {
    const { gap, ...report } = await failover();
    expect(report).toMatchObject({ changed: true, workspaces: 1 });
    expect(gap).toBeGreaterThanOrEqual(LEAST_GAP);
    expect(await head()).toBe(REPLICATED + Number(gap));
    expect(await events()).toEqual([
      { details: { since, gap, incarnation: expect.stringMatching(/^\d+\/\d+\/00000001$/) as string } },
    ]);
  });

  it('advances them once for each failover', async () => {
    const before = await head();
    for (const options of [['--dry-run'], []]) {
      const { text, ...report } = await failover(...options);
      expect(report).toMatchObject({ changed: false, gap: 0 });
      expect(text).toMatch(/^This failover was handled at \S+; nothing to do\./);
    }
    expect([await head(), (await events()).length]).toEqual([before, 1]);
  });

  it('sends devices that have seen lost changes to a bootstrap, and other devices go on', async () => {
    const standby = await startService({ env });
    try {
      const again = notes.as(await TestUser.logIn(standby.url, 'alice'));
      for (const seen of [REPLICATED + 1, REPLICATED + 2])
        expect((await again.pull(seen).expect(409)).body).toMatchObject({ needsBootstrap: true });
      await again.put('after', 'content').expect(201);
      const { changes } = (await again.pull(REPLICATED).expect(200)).body as { changes: object[] };
      expect(changes).toMatchObject([{ encryptedPath: 'after' }]);
    } finally {
      await standby.close();
    }
  });

  it('advances them again after a promotion, for a later time, and with --again', async () => {
    const before = await head();
    await database.query(
      `UPDATE audit_events SET details = details || '{"incarnation": "1/2/00000002"}' WHERE action = 'failover.handled'`,
    );
    expect(await failover()).toMatchObject({ changed: true });
    expect(await failover()).toMatchObject({ changed: false });
    expect(await failover('--again')).toMatchObject({ changed: true });
    since = new Date().toISOString();
    expect(await failover()).toMatchObject({ changed: true });
    expect(await head()).toBeGreaterThanOrEqual(before + 3 * LEAST_GAP);
    expect(await events()).toHaveLength(4);
  });
});
