import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { Backups } from '../../src/backup/index.js';
import { Database } from '../../src/platform/database/index.js';
import { adminJson } from '../kit/admin.js';
import { AsOnNodes } from '../kit/as-on-nodes.js';
import { createDatabase, startService, type TestService } from '../kit/index.js';

const SETTINGS = { AUTH_SECRET: 'the same for whatever restores it' };

let service: TestService;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sync-nodes-'));
  service = await startService({ env: SETTINGS });
  await AsOnNodes.of(service);
});
afterAll(async () => {
  await service.close();
  await rm(home, { recursive: true, force: true });
});
afterEach(() => jest.restoreAllMocks());

it('a backup of nodes does not hold up commits for long behind one that hangs', async () => {
  const hanging = new pg.Client(service.database.url);
  await hanging.connect();
  await hanging.query('BEGIN; DELETE FROM shared_commits');
  const isRefused = expect(service.app.get(Backups).create(join(home, 'hung'))).rejects.toThrow(
    'cannot begin',
  );
  await isRefused;
  await hanging.end();
});

it('what a database owed to its nodes before a restore is not done to what is restored', async () => {
  const user = await service.user('returns');
  const { id } = await user.workspace('returns too');
  await service.app.get(Backups).create(join(home, 'before'));
  jest.spyOn(Database.prototype, 'isDistributed', 'get').mockReturnValue(true);
  const database = await createDatabase();
  for (const owed of [id, randomUUID()])
    await database.query('INSERT INTO owed_deletions (workspace_id, deleted_at) VALUES ($1, now())', [owed]);
  const env = { ...SETTINGS, DATABASE_URL: database.url, DATA_DIR: await mkdtemp(join(home, 'data-')) };
  await adminJson(env, 'backup', 'restore', join(home, 'before'));
  expect(await database.query('SELECT workspace_id FROM owed_deletions')).toEqual([]);
  expect(await database.query('SELECT name FROM workspaces WHERE id = $1', [id])).toEqual([
    { name: 'returns too' },
  ]);
});
