import { randomUUID } from 'node:crypto';
import { UPLOAD_FUNCTIONS } from '../../../src/domain/files/index.js';
import { createDataSource, migrate } from '../../../src/platform/database/index.js';
import { migrations } from '../../../src/platform/database/migrations/index.js';
import { NodesWithoutCopies1764500000003 } from '../../../src/platform/database/migrations/1764500000003-nodes-without-copies.js';
import { createDatabase, type TestDatabase } from '../../kit/index.js';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase({ isEmpty: true });
});
afterAll(() => database.drop());

async function start(version: typeof migrations): Promise<void> {
  const settings = { target: database.url, poolSize: 2, entities: [], onPoolError: () => undefined };
  const source = createDataSource({ ...settings, isWithoutTimeouts: true });
  source.setOptions({ migrations: version });
  await source.initialize();
  await migrate(source, [UPLOAD_FUNCTIONS]);
  await source.destroy();
}

async function workspaceOf(user: string): Promise<string> {
  const id = randomUUID();
  await database.query(
    `INSERT INTO workspaces (id, user_id, name, created_at, updated_at) VALUES ($1, $2, 'x', now(), now())`,
    [id, user],
  );
  return id;
}

it('the migration that drops the tables of owed deletions carries out what they list', async () => {
  await start(migrations.slice(0, migrations.indexOf(NodesWithoutCopies1764500000003)));
  const user = randomUUID();
  await database.query(
    `INSERT INTO users (id, email, name, email_verified) VALUES ($1, 'ann@example.org', 'ann', true)`,
    [user],
  );
  const [owed, marked, kept] = [await workspaceOf(user), await workspaceOf(user), await workspaceOf(user)];
  await database.query(`UPDATE workspaces SET deleted_at = '2026-01-01Z' WHERE id = $1`, [marked]);
  await database.query(
    `INSERT INTO owed_deletions (workspace_id, deleted_at) VALUES ($1, '2026-02-02Z'), ($2, '2026-02-02Z')`,
    [owed, marked],
  );
  for (const device of ['gone', 'here'])
    await database.query(
      `INSERT INTO push_subscriptions (workspace_id, device_id, endpoint, p256dh, auth, updated_at)
       VALUES ($1, $2, 'https://push.example', repeat('a', 87), repeat('b', 22), now())`,
      [kept, device],
    );
  await database.query(`INSERT INTO owed_unsubscriptions (workspace_id, device_id) VALUES ($1, 'gone')`, [
    kept,
  ]);

  await start(migrations);
  const workspaces = await database.query(
    `SELECT id, user_id, deleted_at FROM workspaces ORDER BY deleted_at NULLS LAST`,
  );
  expect(workspaces).toEqual([
    { id: marked, user_id: null, deleted_at: new Date('2026-01-01Z') },
    { id: owed, user_id: null, deleted_at: new Date('2026-02-02Z') },
    { id: kept, user_id: user, deleted_at: null },
  ]);
  expect(await database.query('SELECT device_id FROM push_subscriptions')).toEqual([{ device_id: 'here' }]);
});
