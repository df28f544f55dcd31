import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import supertest from 'supertest';
import { adminReport } from '../../kit/admin.js';
import { adminEnded, type Ended, refusedStart } from '../../kit/ended.js';
import { BASE_URL, createDatabase, startService, type TestDatabase, TestUser } from '../../kit/index.js';
import { ADMIN, runProcess, startProcess } from '../../kit/process.js';
import { refusal, startHere, usePlace } from '../../kit/place-of-start.js';

const place = usePlace();

describe('npm run admin', () => {
  const admin = (...args: string[]): Promise<{ code: number | null; output: string }> =>
    runProcess({ DATA_DIR: place.dataDir, DATABASE_URL: place.database.url }, ADMIN, args);

  it('creates an account that can sign in, also beside a running service', async () => {
    const service = await startService({
      env: { DATA_DIR: place.dataDir, DATABASE_URL: place.database.url },
    });
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
      { DATA_DIR: place.dataDir, DATABASE_URL: place.database.url },
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
      adminEnded({ DATA_DIR: place.dataDir, DATABASE_URL: place.database.url }, ...args);
    expect((await admin('subscription', 'grant', 'nobody@example.org', '--status', 'active')).code).toBe(1);
    expect((await admin('subscription', 'grant', 'granted@example.org', '--status', 'gold')).code).toBe(2);
    expect((await admin('user', 'create', 'not-an-address')).code).toBe(2);
    expect((await admin()).code).toBe(2);
  });
});

describe('a changed AUTH_SECRET', () => {
  it('stops the start with a remedy, which works', async () => {
    const own = await createDatabase();
    const env = { DATA_DIR: place.dataDir, DATABASE_URL: own.url };
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
    first = await mkdtemp(join(place.dataDir, 'first-'));
    second = await mkdtemp(join(place.dataDir, 'second-'));
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
