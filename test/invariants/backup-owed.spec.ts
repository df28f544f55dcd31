import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Backups } from '../../src/backup/index.js';
import { adminJson } from '../kit/admin.js';
import { AsOnNodes } from '../kit/as-on-nodes.js';
import { createDatabase, startService, type TestDatabase, type TestService } from '../kit/index.js';

const AUTH_SECRET = 'the same for whatever restores it';

let service: TestService;
let nodes: AsOnNodes;
let restored: TestDatabase;
let home: string;
beforeAll(async () => {
  service = await startService({ env: { AUTH_SECRET } });
  nodes = await AsOnNodes.of(service);
  restored = await createDatabase();
  home = await mkdtemp(join(tmpdir(), 'sync-owed-'));
});
afterAll(async () => {
  await Promise.all([service.close(), restored.drop()]);
  await rm(home, { recursive: true, force: true });
});

it('a backup of nodes that still have what the coordinator has deleted is restored on one server, without it', async () => {
  const [kept, leaver] = [await service.user('kept'), await service.user('leaver')];
  const workspace = await kept.workspace('kept');
  const [owed, marked] = [await leaver.workspace('owed'), await leaver.workspace('marked')];
  for (const each of [workspace, owed, marked]) await each.put('bm90ZQ', 'a note').expect(201);
  const { body } = await kept.post('/api/v1/devices').send({ name: 'Laptop', platform: 'linux' }).expect(201);
  const stolen = (body as { id: string }).id;
  for (const device of [stolen, 'phone'])
    await service.database.query(
      `INSERT INTO push_subscriptions (workspace_id, device_id, endpoint, p256dh, auth, updated_at)
       VALUES ($1, $2, 'https://push.example.org', repeat('p', 87), repeat('a', 22), now())`,
      [workspace.id, device],
    );
  for (const bound of [workspace.id, randomUUID(), null])
    await service.database.query(
      `INSERT INTO access_tokens (id, user_id, name, token_hash, scopes, workspace_id, created_at)
       VALUES (gen_random_uuid(), $1, 'bound', sha256($2::text::bytea), '{full}', $3, now())`,
      [kept.id, String(bound), bound],
    );

  // The purge of this one has not begun when the account is deleted.
  await service.database.query('UPDATE workspaces SET deleted_at = now() WHERE id = $1', [marked.id]);
  await service.database.query('DELETE FROM workspace_catalogue WHERE id = $1', [marked.id]);
  nodes.leave(workspace.id, owed.id);
  await kept.delete(`/api/v1/devices/${stolen}`).expect(200);
  await leaver.delete('/api/v1/auth/me').send({ confirm: leaver.email }).expect(200);
  const directory = join(home, 'backup');
  await service.app.get(Backups).create(directory);

  const env = { AUTH_SECRET, DATABASE_URL: restored.url, DATA_DIR: join(home, 'data') };
  const restore = adminJson(env, 'backup', 'restore', directory).then(
    () => 'restored',
    (error: unknown) => String(error).replace('OperatorError: ', ''),
  );
  expect(await restore).toBe('restored');
  expect((await adminJson(env, 'doctor', '--deep')).found).toBe(0);
  expect(await restored.query('SELECT id FROM workspaces')).toEqual([{ id: workspace.id }]);
  expect(await restored.query('SELECT workspace_id AS id FROM files')).toEqual([{ id: workspace.id }]);
  expect(await restored.query('SELECT device_id AS id FROM push_subscriptions')).toEqual([{ id: 'phone' }]);
  expect(
    await restored.query(`SELECT workspace_id AS id FROM access_tokens WHERE name = 'bound' ORDER BY 1`),
  ).toEqual([{ id: workspace.id }, { id: null }]);
});
