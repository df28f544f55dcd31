import { randomBytes, randomUUID } from 'node:crypto';
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { adminJson } from '../../kit/admin.js';
import { adminEnded } from '../../kit/ended.js';
import { assetToken, envelope, TestAssets } from '../../kit/assets.js';
import {
  createDatabase,
  startService,
  type TestDatabase,
  type TestService,
  TestUser,
  type TestWorkspace,
} from '../../kit/index.js';
import { expectReplayLaw } from '../../kit/oracles.js';
import { ADMIN, type ProcessEnv, runProcess } from '../../kit/process.js';
import { describeWithTestServers, startS3 } from '../../kit/s3.js';

/** A larger blob has its own file. */
const INLINE = 1024;
const GAP = 1_000_000;
const SETTINGS = { INLINE_BLOB_BYTES: String(INLINE), AUTH_SECRET: 'the same for whatever restores it' };

let home: string;
let service: TestService;
let alice: TestUser;
let notes: TestWorkspace;
let doomed: TestWorkspace;
/** Every version before the backup began, by id. */
const written = new Map<string, { path: string; versionId: string; content: string }>();
const seen = { head: 0, pat: '', checkpoints: [] as unknown[], assets: new Map<string, Buffer>() };
let backup: string;
let created: Record<string, unknown>;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sync-backup-'));
  service = await startService({ env: SETTINGS });
  alice = await service.user('alice');
  [notes, doomed] = [await alice.workspace('notes'), await alice.workspace('doomed')];
  await fill();
  backup = join(home, 'backup');
  created = await backUpWhileWriting();
});
afterAll(async () => {
  await service.close();
  await rm(home, { recursive: true, force: true });
});

const contentOf = (size: number): string => randomBytes(size / 2).toString('hex');

async function fill(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    for (let file = 0; file < 8; file++)
      await notes.put(`file-${file}`, contentOf(file % 2 ? 200 : 3 * INLINE));
    if (round === 1) await notes.checkpoint();
  }
  await notes.delete('file-0');
  await notes.put('large', contentOf(2 << 20));
  for (let file = 0; file < 8; file++) {
    for (const { id } of await notes.versions(`file-${file}`)) {
      const content = String((await notes.version(`file-${file}`, id).expect(200)).body);
      written.set(id, { path: `file-${file}`, versionId: id, content });
    }
  }
  for (let index = 0; index < 6; index++) {
    const [token, bytes] = [assetToken(), envelope(index % 2 ? 61 : 5000)];
    await TestAssets.of(notes).create(token, bytes).expect(201);
    seen.assets.set(token, bytes);
  }
  for (let file = 0; file < 20; file++) await doomed.put(`file-${file}`, contentOf(2 * INLINE)).expect(201);
  seen.head = (await notes.status()).cursor;
  seen.checkpoints = await notes.checkpoints();
  const minted = await alice.post('/api/v1/auth/tokens').send({ name: 'laptop' }).expect(201);
  seen.pat = minted.body.token;
}

const environmentOf = ({ database, dataDir }: TestService): ProcessEnv => ({
  ...{ DATABASE_URL: database.url, DATA_DIR: dataDir },
});

async function admin(env: ProcessEnv, ...args: string[]): Promise<Record<string, unknown>> {
  const { code, output } = await runProcess({ ...SETTINGS, ...env }, ADMIN, [...args, '--json']);
  expect([code, output]).toEqual([0, expect.stringMatching(/^\{/)]);
  return JSON.parse(output) as Record<string, unknown>;
}

/** The command in this process. */
const report = (env: ProcessEnv, ...args: string[]): Promise<Record<string, unknown>> =>
  adminJson({ ...SETTINGS, ...env }, ...args);

/** Creates the backup during uploads and deletions of files, an asset and a workspace. */
async function backUpWhileWriting(): Promise<Record<string, unknown>> {
  let isOver = false;
  const made = admin(environmentOf(service), 'backup', 'create', backup).finally(() => (isOver = true));
  const [token] = [...seen.assets.keys()];
  for (let write = 0; !isOver; write++) {
    await notes.put(`during-${write % 50}`, contentOf(write % 3 ? 100 : 2 * INLINE));
    if (write % 5 === 0) await notes.delete(`during-${write % 50}`);
    if (write === 150) await TestAssets.of(notes).request('delete', `/${token}`).expect(200);
    if (write === 170) await alice.delete(doomed.path).expect(200);
    await turn();
  }
  return made;
}

async function expectWhole(database: TestDatabase, env: ProcessEnv): Promise<void> {
  const service = await startService({ env: { ...SETTINGS, ...env, DATABASE_URL: database.url } });
  try {
    const again = await TestUser.logIn(service.url, 'alice');
    expect(again.id).toBe(alice.id);
    const restored = notes.as(again);

    for (const { path, versionId, content } of written.values())
      expect(String((await restored.version(path, versionId).expect(200)).body) === content).toBe(true);
    for (const [token, bytes] of [...seen.assets].slice(1)) {
      const { text } = await TestAssets.of(restored).request('get', `/${token}`).expect(200);
      expect(Buffer.from(text, 'base64').equals(bytes)).toBe(true);
    }
    await expectReplayLaw(restored);
    expect(await restored.checkpoints()).toEqual(seen.checkpoints);

    const { cursor } = await restored.status();
    expect(cursor).toBeGreaterThanOrEqual(seen.head + GAP);
    await restored.pull(seen.head).expect(200);
    const ahead = (await notes.status()).cursor + 1; // a cursor after the backup
    expect((await restored.pull(ahead).expect(409)).body).toMatchObject({ needsBootstrap: true });
    await restored.put('after', 'content').expect(201);
    expect((await restored.pull(cursor).expect(200)).body.changes).toHaveLength(1);

    const [drift] = await database.query(
      `SELECT FROM storage_accounts s WHERE used_bytes <> (SELECT coalesce(sum(a.size), 0) FROM assets a JOIN workspaces w ON w.id = a.workspace_id WHERE w.user_id = s.user_id)`,
    );
    expect(drift).toBeUndefined();
    expect(await database.query('SELECT FROM auth_sessions')).toHaveLength(1); // that of `again`
    await alice.at(service.url).get('/api/v1/workspaces').expect(401); // signing keys are not in the backup
    await alice.at(service.url, seen.pat).get('/api/v1/workspaces').expect(200);
  } finally {
    await service.close();
  }
}

const emptyDirectory = (): Promise<string> => mkdtemp(join(home, 'data-'));

describe('a backup that is made while the service writes', () => {
  it('is private, and describes its content', async () => {
    expect(created).toMatchObject({ damaged: [], rows: { users: 1 } });
    const names = await readdir(backup);
    expect(names.sort()).toEqual(['blobs', 'blobs.list.gz', 'manifest.json', 'tables']);
    for (const name of names) expect((await stat(join(backup, name))).mode & 0o077).toBe(0);
  });

  it('is verified in a temporary database, which is removed', async () => {
    const scratch = await emptyDirectory();
    const verified = await admin({ ...environmentOf(service), TMPDIR: scratch }, 'backup', 'verify', backup);
    expect(verified).toMatchObject({ isWhole: true, findings: [] });
    expect(await readdir(scratch)).toEqual([]);
  });

  it('is restored into an empty database and directory; devices that are ahead start again', async () => {
    const database = await createDatabase();
    const env = { DATABASE_URL: database.url, DATA_DIR: await emptyDirectory() };
    expect(await report(env, 'backup', 'restore', backup, '--dry-run')).toMatchObject({ dryRun: true });
    expect(await database.query('SELECT FROM users')).toEqual([]);
    await admin(env, 'backup', 'restore', backup);
    expect((await report(env, 'doctor', '--deep')).found).toBe(0);
    await expectWhole(database, env);
    await database.drop();
  });

  it('is verified whatever the order of its tables', async () => {
    const reversed = join(home, 'reversed');
    await cp(backup, reversed, { recursive: true });
    const manifest = JSON.parse(await readFile(join(backup, 'manifest.json'), 'utf8')) as {
      tables: object[];
    };
    manifest.tables.reverse();
    await writeFile(join(reversed, 'manifest.json'), JSON.stringify(manifest));
    const verified = await report(environmentOf(service), 'backup', 'verify', reversed);
    expect(verified).toMatchObject({ isWhole: true, findings: [] });
  });

  it('is not restored while a service runs on the database, nor created over another', async () => {
    const sentence = 'A service is running on this database; stop it first.\n';
    expect(await adminEnded(environmentOf(service), 'backup', 'restore', backup)).toEqual({
      ...{ code: 1, stdout: '', stderr: sentence },
    });
    await expect(report(environmentOf(service), 'backup', 'create', backup)).rejects.toThrow('is not empty');
  });
});

describeWithTestServers('a backup of blobs on disk', () => {
  it('is restored into an S3 store', async () => {
    const [database, s3] = [await createDatabase(), await startS3()];
    const env = { ...s3.env(s3.bucketName()), DATABASE_URL: database.url, DATA_DIR: await emptyDirectory() };
    await report(env, 'backup', 'restore', backup);
    await expectWhole(database, env);
    await database.drop();
  });
});

it('a workspace whose owner does not exist is not restored from a backup', async () => {
  const other = await startService({ env: SETTINGS });
  try {
    const workspace = await (await other.user('gone')).workspace();
    await workspace.put('note', contentOf(2 * INLINE)).expect(201);
    await other.database.query('ALTER TABLE workspaces DROP CONSTRAINT IF EXISTS workspaces_user_id_fkey');
    await other.database.query('UPDATE workspaces SET user_id = $1', [randomUUID()]);
    const directory = join(home, 'ownerless');
    await report(environmentOf(other), 'backup', 'create', directory);
    const database = await createDatabase({ isEmpty: true });
    const env = { DATABASE_URL: database.url, DATA_DIR: join(home, 'ownerless-data') };
    await report(env, 'backup', 'restore', directory);
    expect(await database.query('SELECT id FROM users')).toHaveLength(1);
    expect(await database.query('SELECT id FROM workspaces')).toEqual([]);
    await database.drop();
  } finally {
    await other.close();
  }
});
