import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import { migrations } from '../../src/platform/database/migrations/index.js';
import { createDatabase, startService, type TestDatabase } from '../kit/index.js';
import { ADMIN, runProcess, startProcess } from '../kit/process.js';

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

const env = (): Record<string, string> => ({ DATA_DIR: dataDir, DATABASE_URL: database.url });

const migrateFurther = (): Promise<unknown> =>
  database.query(
    `INSERT INTO migrations (timestamp, name) VALUES (9999999999999, 'FromTheFuture9999999999999')`,
  );

describe('a start on an empty database', () => {
  it('migrates it once, however many instances start at once, and all of them come up', async () => {
    database = await createDatabase({ isEmpty: true });
    const instances = await Promise.all([startProcess(env()), startProcess(env())]);
    for (const { url } of instances)
      await supertest(url)
        .get('/health/ready')
        .expect(200, { ready: true, database: 'ok', blobs: 'ok', migrations: 'ok' });
    const applied = await database.query<{ name: string }>('SELECT name FROM migrations ORDER BY id');
    expect(applied.map(({ name }) => name)).toEqual(migrations.map(({ name }) => name));
    const ends = instances.map((instance) => instance.end('SIGKILL'));
    await Promise.all(ends);
  });
});

describe('older code on a schema that a newer version has migrated', () => {
  it('does not start: one sentence, exit code 1; nor does an admin command, and nothing changes', async () => {
    database = await createDatabase();
    await migrateFurther();
    const create = ['user', 'create', 'new@example.org'];
    for (const answer of [await runProcess(env()), await runProcess(env(), ADMIN, create)])
      expect(answer).toEqual({ code: 1, output: REFUSAL });
    expect(await database.query('SELECT FROM users')).toEqual([]);
  });

  it('goes on where it runs already, so that instances are replaced one by one', async () => {
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
