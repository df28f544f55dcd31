import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Report } from '../../../src/operations/admin/with-service.js';
import type { JobRun } from '../../../src/platform/jobs/index.js';
import { adminReport } from '../../kit/admin.js';
import { refusedStart } from '../../kit/ended.js';
import { createDatabase, type TestDatabase, TestUser, TestWorkspace } from '../../kit/index.js';
import { type LoggedOperation, writeLog } from '../../kit/histories.js';
import { expectReplayLaw, scrub } from '../../kit/oracles.js';
import { ADMIN, environment, type ServiceProcess, startProcess } from '../../kit/process.js';

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;
const FILES = 60;
const VERSIONS = 50;

/** All versions are of this hour, of which retention keeps one per file. */
const WRITTEN = new Date(Math.floor(Date.now() / HOUR) * HOUR);
const LATER = new Date(WRITTEN.getTime() + 3 * DAY);
const MUCH_LATER = new Date(LATER.getTime() + DAY + 1);

let database: TestDatabase;
let dataDir: string;
let env: Record<string, string>;
let service: ServiceProcess;
let alice: TestUser;

beforeAll(async () => {
  database = await createDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'sync-nightly-'));
  env = { DATABASE_URL: database.url, DATA_DIR: dataDir };
  service = await startProcess(env);
  alice = await TestUser.logIn(service.url, 'alice');
  await alice.post('/api/v1/subscription/trial').expect(200);
});
afterAll(async () => {
  await service.end('SIGTERM');
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

async function written(): Promise<TestWorkspace> {
  const operations = Array.from({ length: FILES * VERSIONS }, (_, i): LoggedOperation => {
    return { file: i % FILES, action: 'upsert', at: new Date(WRITTEN.getTime() + i) };
  });
  const { workspaceId } = await writeLog(database.query, alice.id, {
    operations,
    checkpoints: [FILES * 7 + 30],
  });
  return new TestWorkspace(alice, workspaceId);
}

const admin = (...args: string[]): Promise<Report> => adminReport(env, ...args);

const count = async (table: string): Promise<number> =>
  (await database.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${table}`))[0]!.count;

/** Runs a command and kills it as soon as fewer rows are left; returns how many remain in the end. */
async function killedBelow(table: string, rows: number, ...args: string[]): Promise<number> {
  await whileSlow(table, () =>
    killBelow(table, rows, spawn(process.execPath, [ADMIN, ...args], { env: environment(env) })),
  );
  return count(table);
}

async function killBelow(table: string, rows: number, child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  while ((await count(table)) >= rows) expect(child.exitCode).toBeNull();
  child.kill('SIGKILL');
  await ended;
}

/** Each deletion takes half a second during `work`, so that a kill can interrupt it; waits for the last. */
async function whileSlow(table: string, work: () => Promise<void>): Promise<void> {
  await database.query(`
    CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END $$;
    CREATE TRIGGER dawdle AFTER DELETE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION dawdle()`);
  await work();
  await database.query(`DROP TRIGGER dawdle ON ${table}; DROP FUNCTION dawdle`); // waits for locks
}

describe('kill -9 of a nightly run beside a running service', () => {
  it('lets the next run complete retention, the sweep of thinned versions, and the purge', async () => {
    const workspace = await written();
    const all = FILES * VERSIONS;
    /** The newest version of each file, and version 7 or 8, which the checkpoint pins. */
    const kept = 2 * FILES;
    const foreseen = await admin('retention', 'run', '--dry-run', '--now', LATER.toISOString());
    expect(foreseen).toMatchObject({ dryRun: true, versions: all - kept });
    expect(await count('versions')).toBe(all);

    const afterKill = await killedBelow('versions', all, 'retention', 'run', '--now', LATER.toISOString());
    expect(afterKill).toBeGreaterThan(kept);
    expect(await scrub(database, dataDir)).toBe(afterKill);
    const completed = await admin('retention', 'run', '--now', LATER.toISOString());
    expect(completed).toMatchObject({ versions: afterKill - kept, blobs: afterKill - kept, failed: 0 });
    expect(completed['workspaces']).toEqual([
      {
        workspaceId: workspace.id,
        versions: afterKill - kept,
        blobs: afterKill - kept,
        bytes: (afterKill - kept) * 36,
      },
    ]);
    const again = await admin('retention', 'run', '--now', LATER.toISOString());
    expect(again).toMatchObject({ versions: 0 });
    expect(await scrub(database, dataDir)).toBe(kept);
    await expectReplayLaw(workspace);

    const swept = await killedBelow('blobs', all, 'blobs', 'sweep', '--now', MUCH_LATER.toISOString());
    expect(swept).toBeGreaterThan(kept);
    await database.query('UPDATE blobs SET claimed_until = NULL'); // a dead sweeper's claims last for minutes
    await admin('blobs', 'sweep', '--now', MUCH_LATER.toISOString());
    expect(await count('blobs')).toBe(kept);
    expect(await scrub(database, dataDir)).toBe(kept);

    const purged = await written();
    await whileSlow('changes', async () => killBelow('changes', 2 * all, (await deleting(purged)).child));
    expect(await count('changes')).toBeGreaterThan(all);
    service = await startProcess(env);
    await database.eventually(`SELECT WHERE NOT EXISTS (SELECT FROM workspaces WHERE id = '${purged.id}')`);
    expect(await count('blobs')).toBe(kept);
    await scrub(database, dataDir);
  });
});

/** Deletes a workspace, and does not wait for it to be emptied. */
async function deleting(workspace: TestWorkspace): Promise<ServiceProcess> {
  await workspace.user.delete(workspace.path).expect(200);
  return service;
}

describe('admin', () => {
  it('retention run without a time equals the nightly job, and admin jobs lists the runs', async () => {
    const report = await admin('retention', 'run');
    expect(report).toMatchObject({ dryRun: false, failed: 0, isComplete: true, exitCode: 0 });
    expect(Math.abs((report['asOf'] as Date).getTime() - Date.now())).toBeLessThan(60_000);
    const runs = (await admin('jobs'))['runs'] as JobRun[];
    expect(runs[0]).toEqual({
      name: 'retention',
      startedAt: expect.any(Date),
      endedAt: expect.any(Date),
      counts: expect.objectContaining({ versions: 0, failed: 0 }),
      error: null,
    });
    expect(runs.filter(({ endedAt }) => endedAt === null)).toEqual([
      expect.objectContaining({ name: 'retention', error: 'its process ended before it did' }),
    ]);
    const { text } = await admin('jobs', '--limit', '1');
    expect(text).toMatch(
      /^\d{4}-\S+Z {2}retention .* s {2}versions 0, blobs 0, bytes 0, failed 0, longestLockMs \d+$/,
    );
  });

  it('retention run is refused while other jobs run', async () => {
    const pg = (await import('pg')).default;
    const client = new pg.Client(database.url);
    await client.connect();
    await client.query('SELECT pg_advisory_lock(7325190002)');
    await expect(admin('retention', 'run')).rejects.toThrow(
      'another run is under way; try again when it has ended',
    );
    await client.end();
  });
});

it('a start with a RETENTION_CRON that never matches fails with one sentence and exit code 1', async () => {
  expect(await refusedStart({ ...env, RETENTION_CRON: '0 3 31 2 *' })).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^Bad configuration: RETENTION_CRON never matches a time; [^\n]+\.\n$/),
  });
});
