import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import { adminReport } from '../../kit/admin.js';
import { documentText } from '../../kit/api-document.js';
import { adminEnded, type Ended, refusedStart } from '../../kit/ended.js';
import {
  BASE_URL,
  createDatabase,
  DEV_LOGIN_KEY,
  sha256,
  startService,
  type TestDatabase,
  TestUser,
} from '../../kit/index.js';
import {
  ADMIN,
  NPM_START,
  type ProcessEnv,
  runProcess,
  type ServiceProcess,
  startProcess,
} from '../../kit/process.js';
import { assetsOf } from '../../kit/visitor.js';

/** Only this sentence, and exit code 1. */
const refusal = (sentence: string | RegExp): object => ({
  code: 1,
  stdout: '',
  stderr: typeof sentence === 'string' ? sentence : expect.stringMatching(sentence),
});

/** Starts and ends the service in this process: a separate one takes a second. */
async function startHere(env: ProcessEnv): Promise<void> {
  await (await startService({ env })).close();
}

async function fileAsSecrets(place: string): Promise<void> {
  await mkdir(place);
  await writeFile(join(place, 'secrets'), '');
}

const IS_ROOT = process.getuid?.() === 0;
const ROOT = join(import.meta.dirname, '..', '..', '..');

let database: TestDatabase;
let dataDir: string;
beforeAll(async () => {
  database = await createDatabase();
  dataDir = await mkdtemp(join(tmpdir(), 'sync-start-'));
});
afterAll(async () => {
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

describe('a start is refused with one sentence and exit code 1 for', () => {
  it('a port in use', async () => {
    const blocker = await listenAnywhere();
    const { port } = blocker.address() as { port: number };
    const { code, output } = await runProcess({
      DATA_DIR: dataDir,
      DATABASE_URL: database.url,
      PORT: String(port),
    });
    expect(output).toBe(
      `Port ${port} is in use; stop the process that listens there, or set PORT to another one (0 finds a free one).\n`,
    );
    expect(code).toBe(1);
    blocker.close();
  });

  it('malformed variables, all at once', async () => {
    expect(await refusedStart({ DATA_DIR: dataDir, PORT: 'http', SUBSCRIPTIONS: 'maybe' })).toEqual(
      refusal(/^Bad configuration: PORT .*; SUBSCRIPTIONS .*\.\n$/),
    );
  });

  it('an external PostgreSQL that does not answer', async () => {
    const url = 'postgres://user:secret-of-db@127.0.0.1:1/nothing';
    expect(await refusedStart({ DATA_DIR: dataDir, DATABASE_URL: url })).toEqual(
      refusal('PostgreSQL does not answer; check that it runs and that DATABASE_URL points at it.\n'),
    );
  });

  it('a database that does not exist', async () => {
    const url = database.url.replace(database.name, 'no_such_database');
    expect(await refusedStart({ DATA_DIR: dataDir, DATABASE_URL: url })).toEqual(
      refusal('The database in DATABASE_URL does not exist; create it first.\n'),
    );
  });

  it.each([
    ['options=garbage', 'invalid command-line argument for server process: garbage'],
    ['options=-c%20work_mem%3Dbanana', 'invalid value for parameter "work_mem": "banana"'],
  ])('a DATABASE_URL with %s, which the server refuses', async (parameter, words) => {
    const url = `${database.url}${database.url.includes('?') ? '&' : '?'}${parameter}`;
    expect(await refusedStart({ DATA_DIR: dataDir, DATABASE_URL: url })).toEqual(
      refusal(
        `PostgreSQL cannot be used with DATABASE_URL and the PG* variables (${words}); check their parameters.\n`,
      ),
    );
  });

  it.each([
    [
      'a development version',
      'DELETE FROM migrations WHERE id = (SELECT max(id) FROM migrations)',
      "INSERT INTO migrations (timestamp, name) VALUES (1763600000003, 'Abandoned1763600000003')",
      /^The database was migrated by a development version \(Abandoned1763600000003\) .*\.\n$/,
    ],
    [
      'the version before the baseline that has not finished its migrations',
      'DELETE FROM migrations',
      "INSERT INTO migrations (timestamp, name) VALUES (1763600000001, 'Identity1763600000001')",
      /^The version before has not finished its migrations \(the last one is Identity1763600000001\); .*\.\n$/,
    ],
    [
      'a development version that lost its list',
      'TRUNCATE migrations',
      'SELECT',
      /^The database has tables that no release of this service created \(.* already exists\), .*\.\n$/,
    ],
    [
      'another program',
      'DROP TABLE migrations',
      'CREATE TABLE migrations (id serial, batch int)',
      /^The database has tables that no release of this service created \(column .*\), .*\.\n$/,
    ],
  ])('a schema of %s', async (_, first, second, sentence) => {
    const foreign = await createDatabase();
    for (const statement of [first, second]) await foreign.query(statement);
    expect(await refusedStart({ DATA_DIR: dataDir, DATABASE_URL: foreign.url })).toEqual(refusal(sentence));
    await foreign.drop();
  });

  it('a schema that a newer version has migrated', async () => {
    const newer = await createDatabase();
    await newer.query(
      `INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'FromTheFuture9999999999999')`,
    );
    expect(await refusedStart({ DATA_DIR: dataDir, DATABASE_URL: newer.url })).toEqual(
      refusal(/^The database was migrated by a newer version \(FromTheFuture9999999999999\); .*\.\n$/),
    );
    await newer.drop();
  });

  it('an old Node.js', async () => {
    const script = await readFile(join(ROOT, 'scripts/start.mjs'), 'utf8');
    const pretend = `Object.defineProperty(process.versions, 'node', { value: '18.19.0' });\n${script}`;
    const old = join(dataDir, 'start.mjs');
    await writeFile(old, pretend);
    const child = spawn(process.execPath, [old]);
    let output = '';
    child.stderr.on('data', (chunk: Buffer) => (output += String(chunk)));
    const [code] = (await once(child, 'close')) as [number];
    expect(output).toBe(
      'Node.js 20.19 or later is required, this is 18.19.0; install a current LTS version.\n',
    );
    expect(code).toBe(1);
  });

  it('a DATA_DIR whose blobs cannot be used', async () => {
    const own = await mkdtemp(join(dataDir, 'unusable-'));
    await writeFile(join(own, 'blobs'), '');
    const { code, output } = await runProcess({ DATA_DIR: own, DATABASE_URL: database.url });
    expect(output).toBe(`${join(own, 'blobs')} is a file or is below one; set DATA_DIR to a directory.\n`);
    expect(code).toBe(1);
  });

  it.each([
    ['is a file', (place: string) => writeFile(place, ''), '', 'is a file or is below one'],
    ['is below a file', (place: string) => writeFile(place, ''), 'data', 'is below one'],
    ['is a link to nowhere', (place: string) => symlink('/nowhere/at-all', place), '', ''],
    ['has a file as secrets', fileAsSecrets, '', 'secrets is a file or is below one'],
  ])('with an external PostgreSQL, a DATA_DIR that %s', async (_, make, below, sentence) => {
    const place = join(dataDir, randomUUID());
    await make(place);
    await expect(startHere({ DATA_DIR: join(place, below) })).rejects.toThrow(`${sentence}; set DATA_DIR`);
  });

  it.each([
    ['a workspace', ''],
    ['a directory of a workspace', 'a0'],
    ['a blob', 'a0/00000000-0000-0000-0000-0000000000a0'],
  ])('%s that another user has left unusable', async (_, below) => {
    const blobs = await mkdtemp(join(dataDir, 'left-'));
    await chmod(dataDir, 0o755);
    await chmod(blobs, 0o777);
    const workspace = join(blobs, randomUUID());
    await mkdir(join(workspace, 'a0'), { recursive: true });
    await writeFile(join(workspace, 'a0/00000000-0000-0000-0000-0000000000a0'), '');
    for (const name of ['', 'a0']) await chmod(join(workspace, name), 0o777);
    await chmod(join(workspace, 'a0/00000000-0000-0000-0000-0000000000a0'), 0o644);
    const look = (): string => {
      const script = `import(${JSON.stringify(join(ROOT, 'dist/src/platform/storage/bytes-check.js'))})
        .then(({ expectUsable }) => expectUsable(${JSON.stringify(blobs)}))
        .then(() => console.log('usable'), ({ name, message }) => console.log(name + ': ' + message));`;
      const user = IS_ROOT ? { uid: 65534, gid: 65534 } : {};
      return execFileSync(process.execPath, ['-e', script], { ...user, encoding: 'utf8' }).trim();
    };
    expect(look()).toBe('usable');
    await chmod(join(workspace, below), 0o000);
    expect(look()).toBe(
      `OperatorError: ${join(workspace, below)} cannot be used by this user (its owner has the id ${process.getuid?.()}); ` +
        `give all of ${blobs} to the user who runs the service (chown -R), and start again.`,
    );
    await chmod(join(workspace, below), 0o755);
  });

  it('a data directory that cannot be written', async () => {
    const file = join(dataDir, 'a-file');
    await writeFile(file, '');
    await chmod(file, 0o400);
    expect(await refusedStart({ DATA_DIR: join(file, 'data') })).toEqual(refusal(/^.*DATA_DIR.*\n$/));
  });
});

describe('a start that succeeds', () => {
  it('prints at most 12 lines, serves, and on SIGTERM exits with 0 after an upload', async () => {
    const service = await startProcess({ DATA_DIR: dataDir, DATABASE_URL: database.url, LOG_LEVEL: 'info' });
    expect(service.output().trim().split('\n').length).toBeLessThanOrEqual(12);
    expect(service.output()).toContain(dataDir);
    await supertest(service.url).get('/health').expect(200, { ok: true });
    await endDuringUpload(service);
  });

  it('reads .env with a byte order mark, and ignores PG* variables, as do admin commands', async () => {
    const pg = { PGSSLMODE: 'require', PGOPTIONS: '-c search_path=nowhere', PGSSLNEGOTIATION: 'direct' };
    const env = { DATA_DIR: await mkdtemp(join(dataDir, 'embedded-')), ...pg, PGREPLICATION: 'true' };
    await writeFile(join(env.DATA_DIR, '.env'), '\uFEFFSIGNUP_ENABLED=false\r\nAPP_NAME=first\r\n');
    const service = await startProcess(env);
    await supertest(service.url).get('/health/ready').expect(200);
    await supertest(service.url)
      .post('/api/auth/sign-up/email')
      .set('Origin', BASE_URL)
      .send({ email: 'stranger@example.org', password: 'correct horse battery', name: 'Stranger' })
      .expect(400);
    const { code, output } = await runProcess(env, ADMIN, ['--json', 'user', 'create', 'new@example.org']);
    expect([code, JSON.parse(output)]).toEqual([0, expect.objectContaining({ email: 'new@example.org' })]);
    expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  it('prints addresses that answer', async () => {
    const service = await startProcess({ DATA_DIR: dataDir, DATABASE_URL: database.url, HOST: '0.0.0.0' });
    const here = `http://localhost:${new URL(service.url).port}`;
    const output = service.output();
    for (const line of [
      `on ${here}, for others ${BASE_URL}`,
      `account     ${here}/account`,
      `API         ${here}/docs`,
    ])
      expect(output).toContain(line);
    for (const path of ['/', '/account', '/docs']) await supertest(service.url).get(path).expect(200);
    await service.end('SIGTERM');
  });

  it('serves the API document, the README and the files of pages from its bundle', async () => {
    const service = await startProcess({ DATA_DIR: dataDir, DATABASE_URL: database.url });
    const { text } = await supertest(service.url).get('/openapi.json').expect(200);
    expect(JSON.parse(text)).toEqual(JSON.parse(documentText()));
    const page = await supertest(service.url).get('/auth/web-handoff'); // asks for what is missing
    await supertest(service.url)
      .get('/readme')
      .expect(200, await readFile(join(ROOT, 'README.md'), 'utf8'));
    const files = assetsOf(page);
    expect(files).not.toEqual([]);
    for (const file of files) await supertest(service.url).get(file).expect(200);
    await service.end('SIGTERM');
  });

  it('keeps its secrets: a token survives a restart, and all files are private to the owner', async () => {
    const own = await createDatabase();
    const env = { DATA_DIR: await mkdtemp(join(dataDir, 'own-')), DATABASE_URL: own.url };
    const before = await startService({ env });
    const { body } = await supertest(before.url)
      .post('/api/v1/auth/dev-login')
      .set('X-Dev-Login-Key', DEV_LOGIN_KEY)
      .send({ email: 'alice@example.org', name: 'alice' });
    await before.close();

    const after = await startProcess(env);
    await supertest(after.url)
      .get('/api/v1/auth/me')
      .set('Authorization', `Bearer ${body.token}`)
      .expect(200);
    await after.end('SIGTERM');

    const made = await readdir(env.DATA_DIR, { recursive: true });
    expect(made).toEqual(expect.arrayContaining(['blobs', 'secrets', join('secrets', 'auth-secret')]));
    for (const name of made)
      expect([name, (await stat(join(env.DATA_DIR, name))).mode & 0o077]).toEqual([name, 0]);
    await own.drop();
  });

  (IS_ROOT ? it : it.skip)('as root creates all its files for the owner of DATA_DIR', async () => {
    const own = await createDatabase();
    const env = { DATA_DIR: await mkdtemp(join(dataDir, 'of-nobody-')), DATABASE_URL: own.url };
    await chown(env.DATA_DIR, 65534, 65534);
    const service = await startService({ env });
    const workspace = await (await service.user('alice')).workspace();
    await workspace.put('bGFyZ2U', Buffer.alloc(200_000)).expect(201);
    await service.close();

    const made = await readdir(env.DATA_DIR, { recursive: true });
    const blobs = made.filter((name) => /^blobs\/.{36}\/..\/.{36}$/.test(name));
    expect(blobs).toHaveLength(1);
    for (const name of made) {
      const { uid, gid } = await stat(join(env.DATA_DIR, name));
      expect([name, uid, gid]).toEqual([name, 65534, 65534]);
    }
    await own.drop();
  });

  it('ends with npm when npm is told to end', async () => {
    const service = await startProcess({ DATA_DIR: dataDir, DATABASE_URL: database.url }, NPM_START);
    await supertest(service.url).get('/health').expect(200);
    expect(await service.end('SIGTERM')).toEqual({ code: 0, signal: null });
    await expect(supertest(service.url).get('/health')).rejects.toThrow('ECONNREFUSED');
  });
});

/** Sends SIGTERM during an upload, which must succeed. */
async function endDuringUpload(service: ServiceProcess): Promise<void> {
  const alice = await TestUser.logIn(service.url, 'alice');
  await alice.post('/api/v1/subscription/trial');
  const workspace = await alice.workspace();
  const body = Buffer.alloc(200_000, 'x');

  const upload = workspace.user.put(workspace.file('slow')).set({
    'X-Content-Hash': sha256(body),
    'X-Device-Id': 'laptop',
    'Content-Length': String(body.length),
  });
  upload.write(body.subarray(0, 100_000));
  await database.eventually(`SELECT FROM blobs WHERE workspace_id = '${workspace.id}' AND state = 'staged'`);
  const ended = service.end('SIGTERM');
  const { status } = await upload.send(body.subarray(100_000));
  expect(status).toBe(201);
  expect(await ended).toEqual({ code: 0, signal: null });
}

describe('npm run admin', () => {
  const admin = (...args: string[]): Promise<{ code: number | null; output: string }> =>
    runProcess({ DATA_DIR: dataDir, DATABASE_URL: database.url }, ADMIN, args);

  it('creates an account that can sign in, also beside a running service', async () => {
    const service = await startService({ env: { DATA_DIR: dataDir, DATABASE_URL: database.url } });
    const { code, output } = await admin('--json', 'user', 'create', 'New@Example.org', '--name', 'New');
    expect(code).toBe(0);
    const { email, password } = JSON.parse(output) as { email: string; password: string };
    await supertest(service.url)
      .post('/api/auth/sign-in/email')
      .set('Origin', BASE_URL)
      .send({ email, password })
      .expect(200);
    await service.close();
  });

  it('grants a subscription', async () => {
    await adminReport(
      { DATA_DIR: dataDir, DATABASE_URL: database.url },
      'user',
      'create',
      'granted@example.org',
    );
    const { code, output } = await admin(
      '--json',
      'subscription',
      'grant',
      'granted@example.org',
      '--status',
      'active',
    );
    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({ email: 'granted@example.org', status: 'active', plan: 'pro' });
  });

  it('exits with 1 on failure and with 2 on wrong usage', async () => {
    const admin = (...args: string[]): Promise<Ended> =>
      adminEnded({ DATA_DIR: dataDir, DATABASE_URL: database.url }, ...args);
    expect((await admin('subscription', 'grant', 'nobody@example.org', '--status', 'active')).code).toBe(1);
    expect((await admin('subscription', 'grant', 'granted@example.org', '--status', 'gold')).code).toBe(2);
    expect((await admin('user', 'create', 'not-an-address')).code).toBe(2);
    expect((await admin()).code).toBe(2);
  });
});

async function listenAnywhere(): Promise<Server> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

describe('a changed AUTH_SECRET', () => {
  it('stops the start with a remedy, which works', async () => {
    const own = await createDatabase();
    const env = { DATA_DIR: dataDir, DATABASE_URL: own.url };
    await startHere({ ...env, AUTH_SECRET: 'the first secret of thirty-two characters' });

    const changed = { ...env, AUTH_SECRET: 'another secret of thirty-two characters' };
    expect(await refusedStart(changed)).toEqual(
      refusal(/^AUTH_SECRET is not the one .*signing-keys renew` once\.\n$/),
    );

    const renewed = await runProcess(changed, ADMIN, ['signing-keys', 'renew']);
    expect(renewed.code).toBe(0);
    const service = await startService({ env: changed });
    const alice = await TestUser.logIn(service.url, 'alice');
    await alice.get('/api/v1/auth/me').expect(200);
    await service.close();
    await own.drop();
  });
});

describe('a database and its blob directory', () => {
  const FOREIGN =
    /^\S+\/blobs is not the blob directory that this database belongs to; set DATA_DIR to that one, .*\.\n?$/;
  let own: TestDatabase;
  let first: string;
  let second: string;
  beforeEach(async () => {
    own = await createDatabase();
    first = await mkdtemp(join(dataDir, 'first-'));
    second = await mkdtemp(join(dataDir, 'second-'));
  });
  afterEach(() => own.drop());

  const start = async (dir: string): Promise<void> => {
    const service = await startProcess({ DATA_DIR: dir, DATABASE_URL: own.url });
    await service.end('SIGTERM');
  };
  const here = (dir: string): Promise<void> => startHere({ DATA_DIR: dir, DATABASE_URL: own.url });
  const idIn = (dir: string): Promise<string> => readFile(join(dir, 'blobs', 'store-id'), 'utf8');
  const registered = (): Promise<{ id: string }[]> => own.query('SELECT id FROM blob_stores');

  it('belong together from the first start; with another one nothing starts', async () => {
    await here(first);
    const id = await idIn(first);
    expect(await registered()).toEqual([{ id }]);

    const env = { DATA_DIR: second, DATABASE_URL: own.url };
    for (const answer of [
      await refusedStart(env),
      await adminEnded(env, 'user', 'create', 'elsewhere@example.org'),
    ]) {
      expect(answer).toEqual(refusal(FOREIGN));
      expect(answer.stderr).toContain(second);
    }
    expect(await own.query(`SELECT FROM users WHERE email = 'elsewhere@example.org'`)).toEqual([]);
    expect(await readdir(join(second, 'blobs'))).toEqual([]);

    await here(first);
    expect(await idIn(first)).toBe(id);
    expect(await registered()).toEqual([{ id }]);
  });

  it('are refused when the directory has the id of another database or has lost its own', async () => {
    const other = await createDatabase();
    await startHere({ DATA_DIR: second, DATABASE_URL: other.url });
    await here(first);
    await expect(here(second)).rejects.toThrow(FOREIGN);
    await rm(join(first, 'blobs'), { recursive: true });
    await expect(here(first)).rejects.toThrow(FOREIGN);
    await other.drop();
  });

  it('are registered once when three instances start at once', async () => {
    await Promise.all([start(first), start(first), start(first)]);
    expect(await registered()).toEqual([{ id: await idIn(first) }]);
    expect((await readdir(join(first, 'blobs'))).sort()).toEqual(['store-id']);
  });

  it('are registered for one of two directories that start at once', async () => {
    const starts = await Promise.allSettled([start(first), start(second)]);
    expect(starts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await registered()).toHaveLength(1);
  });
});
