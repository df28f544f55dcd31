import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import { migrations, REPLACED_MIGRATIONS } from '../../../src/platform/database/migrations/index.js';
import { makeAsBeforeBaseline } from '../../kit/before-baseline.js';
import { createDatabase, startService, type TestDatabase, type TestService } from '../../kit/index.js';
import { expectCountedDocuments, expectDenseLogs, expectReplayLaw } from '../../kit/oracles.js';
import { PLANTED, plantMigrations } from '../../kit/planted-migrations.js';
import { ADMIN, runProcess, startProcess } from '../../kit/process.js';
import { itDeep } from '../../kit/rounds.js';

const REFUSAL =
  'The database was migrated by a newer version (FromTheFuture9999999999999); start that version or a later one.\n';

let dataDir: string;
let database: TestDatabase;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'sync-upgrade-'));
});
afterEach(async () => {
  await database.drop();
  await rm(dataDir, { recursive: true, force: true });
});

const NAMES = migrations.map(({ name }) => name);

const env = (): Record<string, string> => ({ DATA_DIR: dataDir, DATABASE_URL: database.url });

const migrateFurther = (): Promise<unknown> =>
  database.query(
    `INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'FromTheFuture9999999999999')`,
  );

async function applied(): Promise<string[]> {
  const rows = await database.query<{ name: string }>('SELECT name FROM migrations ORDER BY id');
  return rows.map(({ name }) => name);
}

describe('a start on an empty database', () => {
  itDeep('migrates it once when two instances start at once, and both become ready', async () => {
    database = await createDatabase({ isEmpty: true });
    const instances = await Promise.all([startProcess(env()), startProcess(env())]);
    for (const { url } of instances)
      await supertest(url)
        .get('/health/ready')
        .expect(200, { ready: true, database: 'ok', blobs: 'ok', migrations: 'ok' });
    expect(await applied()).toEqual(NAMES);
    const ends = instances.map((instance) => instance.end('SIGKILL'));
    await Promise.all(ends);
  });
});

describe('a start while instances of the previous version serve', () => {
  /** Uploads to the older one from before until after the newer one is ready; each must succeed. */
  async function upgradeUnderLoad(older: TestService, upgrade: () => Promise<TestService>): Promise<void> {
    const workspace = await (await older.user('alice')).workspace();
    let isUpgraded = false;
    let uploads = 0;
    const uploading = Promise.all(
      Array.from({ length: 4 }, async (_, writer) => {
        for (let n = 0; !isUpgraded || n < 5; n++) {
          const { status } = await workspace.put(`file-${writer}-${n % 7}`, `${writer} ${n}`);
          expect([200, 201]).toContain(status);
          uploads++;
        }
      }),
    );
    const newer = await upgrade().finally(() => (isUpgraded = true));
    await uploading;
    await workspace.as(workspace.user.at(newer.url)).put('after', 'content').expect(201);
    expect((await workspace.status()).cursor).toBe(uploads + 1);
    await expectDenseLogs(database);
    await expectCountedDocuments(database);
    await expectReplayLaw(workspace);
    for (const service of [newer, older]) await service.close();
  }

  itDeep('loses no upload, with migrations of a later version', async () => {
    database = await createDatabase();
    const older = await startService({ env: env() });
    const unplant = plantMigrations();
    try {
      await upgradeUnderLoad(older, () => startService({ env: env() }));
    } finally {
      unplant();
    }
    expect(await applied()).toEqual([...NAMES, ...PLANTED.map(({ name }) => name)]);
  });

  itDeep('loses no upload from the version before the baseline, whose migrations stay listed', async () => {
    database = await createDatabase();
    const older = await startService({ env: env() }); // it sends the same statements
    await makeAsBeforeBaseline(database);
    await upgradeUnderLoad(older, () => startService({ env: env() }));
    expect(await applied()).toEqual([...REPLACED_MIGRATIONS, ...NAMES]);
  });
});

describe('older code on a schema that a newer version has migrated', () => {
  it('starts neither service nor admin command: one sentence, exit code 1, nothing changes', async () => {
    database = await createDatabase();
    await migrateFurther();
    const create = ['user', 'create', 'new@example.org'];
    for (const answer of [await runProcess(env()), await runProcess(env(), ADMIN, create)])
      expect(answer).toEqual({ code: 1, output: REFUSAL });
    expect(await database.query('SELECT FROM users')).toEqual([]);
  });

  it('keeps running where it runs already, so that instances can be replaced one by one', async () => {
    database = await createDatabase();
    const older = await startService({ env: env() });
    const workspace = await (await older.user('alice')).workspace();
    await migrateFurther();
    await supertest(older.url)
      .get('/health/ready')
      .expect(200)
      .expect(/"migrations":"ahead"/);
    await workspace.put('YQ', 'still served').expect(201);
    await older.close();
  });
});
