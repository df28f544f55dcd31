import { insertLargeLog } from '../../../bench/large-log.js';
import { BOUND_TABLES, Database } from '../../../src/platform/database/index.js';
import { WorkspacePurge } from '../../../src/domain/workspaces/index.js';
import { startService, type TestService } from '../../kit/index.js';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const STEPS = ['files.purge_changes', 'files.purge_versions', 'files.purge_files'];
const INLINE = 'blobs.remove_inline_of_deleted_workspace';

/** A workspace of 2,500 files with two changes each, and as many blobs as versions. */
async function largeWorkspace(): Promise<string> {
  const { query } = service.database;
  const { id } = await (await service.user('alice')).workspace();
  await insertLargeLog((sql, values) => query(sql, values), id, { files: 2_500, changes: 5_000 });
  await query(
    `INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
     SELECT workspace_id, id, 'live', 'inline', 0, encode(sha256(''), 'hex'), '', now() FROM versions WHERE workspace_id = $1`,
    [id],
  );
  return id;
}

describe('the purge of a large workspace', () => {
  it('begins each batch where the last one ended, and finally starts over once', async () => {
    const id = await largeWorkspace();
    const database = service.app.get(Database);
    const run = database.run.bind(database);
    const places = new Map<string, unknown[]>([...STEPS, INLINE].map((name) => [name, []]));
    jest.spyOn(database, 'run').mockImplementation((statement, values) => {
      const place = statement.name === INLINE ? values[1] : values[2];
      places.get(statement.name)?.push(place);
      return run(statement, values);
    });
    await service.database.query('UPDATE workspaces SET deleted_at = now() WHERE id = $1', [id]);
    await service.app.get(WorkspacePurge).finish();
    jest.restoreAllMocks();
    for (const table of ['workspaces', 'files', 'versions', 'changes', 'blobs'])
      expect(await service.database.query(`SELECT FROM ${table} LIMIT 1`)).toEqual([]);
    for (const name of [...STEPS, INLINE]) {
      const all = places.get(name)!;
      const ascending = all.slice(0, -1);
      expect(ascending.length).toBeGreaterThan(2);
      expect(all).toEqual([...[...new Set(ascending)].sort(byKey), all[0]]);
    }
  });

  it('removes rows that are written behind its position while it runs', async () => {
    const id = await largeWorkspace();
    const { query } = service.database;
    const database = service.app.get(Database);
    const run = database.run.bind(database);
    let isWritten = false;
    jest.spyOn(database, 'run').mockImplementation(async (statement, values) => {
      const rows = await run(statement, values);
      if (statement.name === 'files.purge_versions' && !isWritten) {
        isWritten = true;
        await query(
          `INSERT INTO changes (workspace_id, cursor, file_id, action, content_hash, encrypted_size, version, changed_at)
           SELECT $1, 1, id, 'upsert', '', 0, 1, now() FROM files WHERE workspace_id = $1 LIMIT 1`,
          [id],
        );
      }
      return rows;
    });
    await query('UPDATE workspaces SET deleted_at = now() WHERE id = $1', [id]);
    expect(await service.app.get(WorkspacePurge).finish()).toMatchObject({ left: 0 });
    jest.restoreAllMocks();
    expect(isWritten).toBe(true);
    expect(await query('SELECT FROM workspaces WHERE id = $1', [id])).toEqual([]);
    expect(await query('SELECT FROM changes WHERE workspace_id = $1', [id])).toEqual([]);
  });
});

it('a purge removes the rows of a workspace on the coordinator, where no foreign key does so', async () => {
  const { query } = service.database;
  const owner = await service.user('alice');
  const { id } = await owner.workspace();
  for (const table of BOUND_TABLES)
    await query(`ALTER TABLE ${table} DROP CONSTRAINT ${table}_workspace_id_fkey`);
  await query(
    `INSERT INTO access_tokens (id, user_id, name, token_hash, scopes, workspace_id, created_at)
     SELECT gen_random_uuid(), user_id, 'bound', sha256('t'), '{full}', id, now() FROM workspaces WHERE id = $1`,
    [id],
  );
  await query(
    `INSERT INTO key_sessions (id, token_hash, user_id, workspace_id, wrapped_key, created_at, last_used_at)
     SELECT gen_random_uuid(), sha256('k'), user_id, id, decode(repeat('00', 60), 'hex'), now(), now()
     FROM workspaces WHERE id = $1`,
    [id],
  );
  await query(
    `INSERT INTO presence (workspace_id, device_id, instance_id) SELECT $1, 'laptop', id FROM instances LIMIT 1`,
    [id],
  );
  const left = () =>
    Promise.all(BOUND_TABLES.map((table) => query(`SELECT FROM ${table} WHERE workspace_id = $1`, [id])));
  expect((await left()).map((rows) => rows.length)).toEqual(BOUND_TABLES.map(() => 1));
  await query('UPDATE workspaces SET deleted_at = now() WHERE id = $1', [id]);
  await service.app.get(WorkspacePurge).finish();
  expect(await query('SELECT FROM workspaces WHERE id = $1', [id])).toEqual([]);
  expect((await left()).flat()).toEqual([]);
});

function byKey(a: unknown, b: unknown): number {
  return typeof a === 'number' && typeof b === 'number' ? a - b : String(a) < String(b) ? -1 : 1;
}
