import { chown, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import supertest from 'supertest';
import { documentText } from '../../kit/api-document.js';
import { BASE_URL, createDatabase, DEV_LOGIN_KEY, sha256, startService, TestUser } from '../../kit/index.js';
import { ADMIN, NPM_START, runProcess, type ServiceProcess, startProcess } from '../../kit/process.js';
import { assetsOf } from '../../kit/visitor.js';
import { usePlace } from '../../kit/place-of-start.js';

const place = usePlace();
const IS_ROOT = process.getuid?.() === 0;
const ROOT = join(import.meta.dirname, '..', '..', '..');

describe('a start that succeeds', () => {
  it('prints at most 12 lines, serves, and on SIGTERM exits with 0 after an upload', async () => {
    const service = await startProcess({
      DATA_DIR: place.dataDir,
      DATABASE_URL: place.database.url,
      LOG_LEVEL: 'info',
    });
    expect(service.output().trim().split('\n').length).toBeLessThanOrEqual(12);
    expect(service.output()).toContain(place.dataDir);
    await supertest(service.url).get('/health').expect(200, { ok: true });
    await endDuringUpload(service);
  });

  it('reads .env with a byte order mark, and ignores PG* variables, as do admin commands', async () => {
    const pg = { PGSSLMODE: 'require', PGOPTIONS: '-c search_path=nowhere', PGSSLNEGOTIATION: 'direct' };
    const env = { DATA_DIR: await mkdtemp(join(place.dataDir, 'embedded-')), ...pg, PGREPLICATION: 'true' };
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
    const service = await startProcess({
      DATA_DIR: place.dataDir,
      DATABASE_URL: place.database.url,
      HOST: '0.0.0.0',
    });
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
    const service = await startProcess({ DATA_DIR: place.dataDir, DATABASE_URL: place.database.url });
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
    const env = { DATA_DIR: await mkdtemp(join(place.dataDir, 'own-')), DATABASE_URL: own.url };
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
    const env = { DATA_DIR: await mkdtemp(join(place.dataDir, 'of-nobody-')), DATABASE_URL: own.url };
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
    const service = await startProcess(
      { DATA_DIR: place.dataDir, DATABASE_URL: place.database.url },
      NPM_START,
    );
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
  await place.database.eventually(
    `SELECT FROM blobs WHERE workspace_id = '${workspace.id}' AND state = 'staged'`,
  );
  const ended = service.end('SIGTERM');
  const { status } = await upload.send(body.subarray(100_000));
  expect(status).toBe(201);
  expect(await ended).toEqual({ code: 0, signal: null });
}
