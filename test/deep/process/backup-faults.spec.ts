import { randomBytes } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { cursorGap, type Manifest } from '../../../src/operations/backup/index.js';
import { writeDurably } from '../../../src/platform/config/index.js';
import { adminReport } from '../../kit/admin.js';
import { createDatabase, startService, type TestDatabase } from '../../kit/index.js';
import { scrub } from '../../kit/oracles.js';
import type { ProcessEnv } from '../../kit/process.js';

const SETTINGS = { INLINE_BLOB_BYTES: '0', AUTH_SECRET: 'the same for whatever restores it' };
const HEAD = 3;

let home: string;
let backup: string;
/** The store that was backed up. */
let store: string;
let database: TestDatabase;
let env: ProcessEnv;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sync-backup-faults-'));
  backup = join(home, 'backup');
  const service = await startService({ env: SETTINGS });
  const notes = await (await service.user('alice')).workspace('notes');
  for (let file = 0; file < HEAD; file++) await notes.put(`file-${file}`, randomBytes(2000)).expect(201);
  const { url } = service.database;
  await adminReport(
    { ...SETTINGS, DATABASE_URL: url, DATA_DIR: service.dataDir },
    'backup',
    'create',
    backup,
  );
  store = join(home, 'store');
  await cp(join(service.dataDir, 'blobs'), store, { recursive: true });
  await service.close();
  database = await createDatabase();
  env = { ...SETTINGS, DATABASE_URL: database.url, DATA_DIR: await mkdtemp(join(home, 'data-')) };
});
afterAll(async () => {
  await database.drop();
  await rm(home, { recursive: true, force: true });
});

async function copyOfBackup(): Promise<string> {
  const copy = join(await mkdtemp(join(home, 'copy-')), 'backup');
  await cp(backup, copy, { recursive: true });
  return copy;
}

async function firstBlob(copy: string): Promise<string> {
  const [workspace = ''] = await readdir(join(copy, 'blobs'));
  const [blob = ''] = await readdir(join(copy, 'blobs', workspace));
  return join(copy, 'blobs', workspace, blob);
}

const fileInStore = (dataDir: string, blob: string): string =>
  join(dataDir, 'blobs', basename(dirname(blob)), blob.slice(-2), basename(blob));

async function rewriteManifest(copy: string, change: (manifest: Manifest) => object): Promise<void> {
  const path = join(copy, 'manifest.json');
  await writeFile(path, JSON.stringify(change(JSON.parse(await readFile(path, 'utf8')) as Manifest)));
}

type Damage = (copy: string) => Promise<void>;

const DAMAGES: [string, Damage, RegExp][] = [
  ['without a blob', async (copy) => rm(await firstBlob(copy)), /blob .* cannot be read \(ENOENT\)\.$/],
  [
    'with a directory for a blob',
    async (copy) => {
      const blob = await firstBlob(copy);
      await rm(blob);
      await mkdir(blob);
    },
    /blob .* cannot be read \(EISDIR\)\.$/,
  ],
  ['without its list of blobs', (copy) => rm(join(copy, 'blobs.list.gz')), /blobs\.list\.gz .*\(ENOENT\)\.$/],
  [
    'with a list that ends early',
    async (copy) => {
      const path = join(copy, 'blobs.list.gz');
      await writeFile(path, (await readFile(path)).subarray(0, 40));
    },
    /blobs\.list\.gz is damaged .*\(Z_BUF_ERROR\)\.$/,
  ],
  [
    'with a list that names no blob',
    (copy) => writeFile(join(copy, 'blobs.list.gz'), gzipSync('../../secrets\n')),
    /blobs\.list\.gz is damaged\.$/,
  ],
  ['without a table', (copy) => rm(join(copy, 'tables/users.copy.gz')), /table users .*\(ENOENT\)\.$/],
  [
    'with another table in its place',
    (copy) => cp(join(copy, 'tables/users.copy.gz'), join(copy, 'tables/versions.copy.gz')),
    /table versions is damaged/,
  ],
  [
    'with half a manifest',
    (copy) => writeFile(join(copy, 'manifest.json'), '{"format": 1,'),
    /is damaged\.$/,
  ],
  ['with an empty manifest', (copy) => writeFile(join(copy, 'manifest.json'), 'null'), /is damaged\.$/],
  [
    'whose manifest has lost a table',
    (copy) =>
      rewriteManifest(copy, (manifest) => ({
        ...manifest,
        tables: manifest.tables.filter(({ name }) => name !== 'versions'),
      })),
    /The tables of the backup do not match this database/,
  ],
  [
    'whose manifest names an unknown table',
    (copy) =>
      rewriteManifest(copy, (manifest) => ({
        ...manifest,
        tables: manifest.tables.map((table) => ({ ...table, name: `${table.name}; SELECT 1` })),
      })),
    /The tables of the backup do not match this database/,
  ],
];

describe('backup restore', () => {
  it.each(DAMAGES)(
    'fails with one sentence and leaves the database empty for a backup %s',
    async (...fault) => {
      const [, damage, sentence] = fault;
      const copy = await copyOfBackup();
      await damage(copy);
      await expect(adminReport(env, 'backup', 'restore', copy)).rejects.toMatchObject({
        name: 'OperatorError',
        message: expect.stringMatching(sentence) as string,
      });
      expect(await database.query('SELECT FROM users UNION ALL SELECT FROM blobs')).toEqual([]);
    },
  );

  it('advances heads by a million, and more for each minute since the backup', async () => {
    const copy = await copyOfBackup();
    await rewriteManifest(copy, (manifest) => ({
      ...manifest,
      takenAt: new Date(Date.now() - 150_000).toISOString(),
    }));
    await adminReport(env, 'backup', 'restore', copy);
    expect(await database.query('SELECT head_cursor::int AS head FROM workspaces')).toEqual([
      { head: HEAD + 1_012_000 },
    ]);
  });

  it('is refused for a database in use, and the dry run predicts it', async () => {
    for (const how of [[], ['--dry-run']])
      await expect(adminReport(env, 'backup', 'restore', backup, ...how)).rejects.toMatchObject({
        name: 'OperatorError',
        message: 'This database is in use; a backup can only be restored into an empty one.',
      });
  });
});

describe('backup restore into an existing store', () => {
  let database: TestDatabase;
  let env: ProcessEnv & { DATA_DIR: string };
  let copy: string;
  beforeEach(async () => {
    database = await createDatabase();
    env = { ...SETTINGS, DATABASE_URL: database.url, DATA_DIR: await mkdtemp(join(home, 'data-')) };
    await cp(store, join(env.DATA_DIR, 'blobs'), { recursive: true });
    copy = await copyOfBackup();
  });
  afterEach(() => database.drop());

  it('keeps intact blobs even if those of the backup are damaged', async () => {
    await writeFile(await firstBlob(copy), 'damaged');
    await adminReport(env, 'backup', 'restore', copy);
    expect(await scrub(database, env.DATA_DIR)).toBe(HEAD);
  });

  it('replaces damaged blobs', async () => {
    await writeFile(fileInStore(env.DATA_DIR, await firstBlob(copy)), randomBytes(2000));
    await adminReport(env, 'backup', 'restore', copy);
    expect(await scrub(database, env.DATA_DIR)).toBe(HEAD);
  });

  it('verifies everything it restores before it changes anything', async () => {
    const blob = await firstBlob(copy);
    const there = fileInStore(env.DATA_DIR, blob);
    await writeFile(there, 'in part');
    await writeFile(blob, 'damaged');
    await expect(adminReport(env, 'backup', 'restore', copy)).rejects.toMatchObject({
      name: 'OperatorError',
      message: expect.stringMatching(/blob .* is damaged\.$/) as string,
    });
    expect(await readFile(there, 'utf8')).toBe('in part');
  });
});

describe('backup create', () => {
  it('fails with one sentence when the target is not a directory and cannot be one', async () => {
    const [file, link] = [join(home, 'a-file'), join(home, 'a-link')];
    await writeFile(file, '');
    await symlink(join(home, 'nowhere'), link);
    for (const [path, code] of [
      [file, 'EEXIST'],
      [link, 'ENOENT'],
    ] as const) {
      await expect(adminReport(env, 'backup', 'create', path)).rejects.toMatchObject({
        name: 'OperatorError',
        message: expect.stringMatching(`cannot be written to ${path} \\(${code}\\)`) as string,
      });
    }
  });

  it('does not write through a symbolic link', async () => {
    const [target, link] = [join(home, 'target'), join(home, 'link')];
    await writeFile(target, 'theirs');
    await symlink(target, link);
    await expect(writeDurably(link, [Buffer.from('ours')])).rejects.toMatchObject({ code: 'EEXIST' });
    expect(await readFile(target, 'utf8')).toBe('theirs');
  });
});

describe('the gap in the cursors', () => {
  const taken = new Date('2026-11-20T03:00:00Z');
  const after = (ms: number): number => cursorGap(taken, new Date(taken.getTime() + ms));

  it('is a million in the first minute, even when the clock is behind', () => {
    expect([after(-3_600_000), after(0), after(59_999)]).toEqual([1_000_000, 1_000_000, 1_000_000]);
  });

  it('grows by 6,000 a minute, and is still a safe integer after a century', () => {
    expect([after(60_000), after(3_600_000)]).toEqual([1_006_000, 1_360_000]);
    expect(Number.isSafeInteger(after(100 * 366 * 24 * 3_600_000))).toBe(true);
  });
});
