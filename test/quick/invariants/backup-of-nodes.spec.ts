import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Backups } from '../../../src/operations/backup/index.js';
import { IMPOSSIBLE_REFERENCES } from '../../../src/platform/database/distribution/nodes.js';
import { adminJson } from '../../kit/admin.js';
import { createDatabase, startService, type TestDatabase, type TestService } from '../../kit/index.js';

const AUTH_SECRET = 'the same for whatever restores it';

let service: TestService;
let restored: TestDatabase;
let home: string;
beforeAll(async () => {
  service = await startService({ env: { AUTH_SECRET } });
  restored = await createDatabase();
  home = await mkdtemp(join(tmpdir(), 'sync-nodes-'));
});
afterAll(async () => {
  await Promise.all([service.close(), restored.drop()]);
  await rm(home, { recursive: true, force: true });
});

it('a backup of nodes is restored on one server without the tokens whose workspace is gone', async () => {
  for (const { table, name } of IMPOSSIBLE_REFERENCES)
    await service.database.query(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  const user = await service.user('alice');
  const { id } = await user.workspace();
  for (const bound of [id, randomUUID(), null])
    await service.database.query(
      `INSERT INTO access_tokens (id, user_id, name, token_hash, scopes, workspace_id, created_at)
       VALUES (gen_random_uuid(), $1, 'bound', sha256($2::text::bytea), '{full}', $3, now())`,
      [user.id, String(bound), bound],
    );
  const directory = join(home, 'backup');
  await service.app.get(Backups).create(directory);

  const env = { AUTH_SECRET, DATABASE_URL: restored.url, DATA_DIR: join(home, 'data') };
  const restore = adminJson(env, 'backup', 'restore', directory).then(
    () => 'restored',
    (error: unknown) => String(error).replace('OperatorError: ', ''),
  );
  expect(await restore).toBe('restored');
  expect(
    await restored.query(`SELECT workspace_id AS id FROM access_tokens WHERE name = 'bound' ORDER BY 1`),
  ).toEqual([{ id }, { id: null }]);
});
