import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import { adminEnded } from '../../kit/ended.js';
import { isEngineThere } from '../../kit/distributed-database.js';
import { holdTable } from '../../kit/hold.js';
import { eventually, startService, type TestService, type TestWorkspace } from '../../kit/index.js';
import { describeWithTestServers, type OwnTestS3, startOwnS3 } from '../../kit/s3.js';

const LARGE = randomBytes(100_000);

describeWithTestServers('the service, while the S3 store is away,', () => {
  let s3: OwnTestS3;
  let env: Record<string, string>;
  let service: TestService;
  let notes: TestWorkspace;
  beforeAll(async () => {
    s3 = await startOwnS3();
    env = s3.env(s3.bucketName());
    service = await startService({ env });
    notes = await (await service.user('alice')).workspace();
    await notes.put('large', LARGE).expect(201);
    await s3.killGateway();
  });
  afterAll(async () => {
    await service.close();
    await s3.stop();
  });

  const admin = (...args: string[]): ReturnType<typeof adminEnded> =>
    adminEnded({ ...env, DATA_DIR: service.dataDir, DATABASE_URL: service.database.url }, ...args);

  it.each([
    ['user', 'list'],
    ['user', 'show', 'alice@example.org'],
    ['user', 'create', 'bob@example.org'],
    ['user', 'suspend', 'bob@example.org'],
    ['subscription', 'show', 'alice@example.org'],
    ['subscription', 'grant', 'alice@example.org', '--status', 'active'],
    ['jobs'],
    ['audit'],
    ['blobs', 'sweep', '--dry-run'],
    ['user', 'delete', 'bob@example.org', '--yes'],
  ])('runs the admin command %s %s, which needs no blob', async (...args) => {
    expect(await admin(...args)).toMatchObject({ code: 0, stderr: '' });
  });

  it('ends an admin command that needs a blob with an error of one sentence', async () => {
    const { code, stderr } = await admin('doctor');
    expect(stderr).toMatch(
      /^The S3 store at \S+ does not answer \(E\w+\); check that it runs and [^\n]*\.\n$/,
    );
    expect(code).toBe(1);
  });

  it('refuses to start with settings that are wrong', async () => {
    await s3.restartGateway();
    const wrong = startService({ beside: service, env: { ...env, S3_SECRET_KEY: 'not-the-key' } });
    await expect(wrong).rejects.toThrow('refuses this S3_SECRET_KEY');
    await s3.killGateway();
  });

  (isEngineThere ? it.skip : it)(
    'does not start, and registers no directory, when the database does not answer whether blobs exist',
    async () => {
      const dataDir = await mkdtemp(join(tmpdir(), 'sync-new-data-'));
      const stores = (): Promise<unknown[]> => service.database.query('SELECT * FROM blob_stores');
      const before = await stores();
      const held = await holdTable(service.database, 'blobs');
      try {
        await expect(startService({ beside: { ...service, dataDir }, env })).rejects.toMatchObject({
          code: '55P03',
        });
      } finally {
        await held.release();
      }
      expect(await stores()).toEqual(before);
      await rm(dataDir, { recursive: true });
    },
  );

  it('starts an instance, which serves small files and, once the store is back, large ones', async () => {
    const other = await startService({ beside: service, env });
    const here = notes.as(notes.user.at(other.url));
    expect(other.logged()).toContain('the s3 store is away');
    expect(other.logged()).not.toContain(env.S3_SECRET_KEY);
    await supertest(other.url)
      .get('/health/ready')
      .expect(503)
      .expect(({ body }) => expect(body).toMatchObject({ ready: false, database: 'ok', blobs: 'away' }));
    await here.put('small', 'text').expect(201);
    await here.get('small').expect(200);
    for (const request of [here.put('another', LARGE), here.get('large')])
      expect((await request.expect(503)).headers['retry-after']).toMatch(/^\d+$/);

    await s3.restartGateway();
    await eventually(() => supertest(other.url).get('/health/ready').expect(200));
    await here.put('another', LARGE).expect(201);
    expect(LARGE.equals((await here.get('large').expect(200)).body as Buffer)).toBe(true);
    await other.close();
  });
});
