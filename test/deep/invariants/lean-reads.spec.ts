import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { UPLOAD_FUNCTIONS } from '../../../src/domain/files/index.js';
import { rowsStatements } from '../../../src/domain/files/files.queries.js';
import { createDataSource, migrate, underStartLock } from '../../../src/platform/database/index.js';
import { baseline, migrations } from '../../../src/platform/database/migrations/index.js';
import { FUNCTIONS_BEFORE, PULL_BEFORE, WRITES_BEFORE } from '../../kit/before-baseline.js';
import { isEngineThere } from '../../kit/distributed-database.js';
import { uploadDirectly } from '../../kit/direct-upload.js';
import { createDatabase, type TestDatabase } from '../../kit/index.js';
import { schemaText } from '../../kit/schema-text.js';

let database: TestDatabase;
let workspaceId: string;
beforeEach(async () => {
  database = await createDatabase({ isEmpty: true });
  await start(baseline, FUNCTIONS_BEFORE);
  workspaceId = await fill();
});
afterEach(() => database.drop());

async function start(version = migrations, functions = UPLOAD_FUNCTIONS): Promise<void> {
  const settings = { target: database.url, poolSize: 2, entities: [], onPoolError: () => undefined };
  const source = createDataSource({ ...settings, isWithoutTimeouts: true });
  source.setOptions({ migrations: version as never[] });
  await source.initialize();
  try {
    await underStartLock(source, () => migrate(source, [functions]));
  } finally {
    await source.destroy();
  }
}

const put = (path: string, text: string): Promise<void> =>
  uploadDirectly(database, { workspaceId, path, text });

const idOf = async (path: string): Promise<string> =>
  (
    await database.query<{ id: string }>(
      'SELECT id FROM files WHERE workspace_id = $1 AND encrypted_path = $2',
      [workspaceId, path],
    )
  )[0]?.id ?? '';

/** Runs a statement under the lock of the log, as an instance does. */
async function locked(sql: string, values: unknown[]): Promise<void> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE', [workspaceId]);
  await client.query(sql, values);
  await client.query('COMMIT');
  await client.end();
}

const restore = async (path: string, version: number): Promise<void> =>
  locked(WRITES_BEFORE.restore, [workspaceId, await idOf(path), version]);

const remove = async (path: string): Promise<void> =>
  locked(WRITES_BEFORE.delete, [workspaceId, await idOf(path)]);

/** A file of two versions, one whose first version is restored, and a deleted one. */
async function fill(): Promise<string> {
  const user = randomUUID();
  workspaceId = randomUUID();
  await database.query(`INSERT INTO users (id, email, name, email_verified) VALUES ($1, $2, 'ann', true)`, [
    user,
    `${user}@example.org`,
  ]);
  await database.query(
    `INSERT INTO workspaces (id, user_id, name, created_at, updated_at) VALUES ($1, $2, 'x', now(), now())`,
    [workspaceId, user],
  );
  for (const path of ['two', 'restored', 'deleted']) for (const text of ['one', 'two']) await put(path, text);
  await restore('restored', 1);
  await remove('deleted');
  return workspaceId;
}

const pulledBefore = (): Promise<unknown[]> => database.query(PULL_BEFORE, [workspaceId]);

/** The faults that the doctor would report. */
const faults = (): Promise<unknown[]> => database.query(rowsStatements.faults.text, [workspaceId]);

const heads = (): Promise<unknown[]> =>
  database.query(
    `SELECT f.encrypted_path AS path, convert_from(b.bytes, 'UTF8') AS text FROM files f
     JOIN blobs b ON b.workspace_id = f.workspace_id AND b.id = f.blob_id ORDER BY 1`,
  );

describe('the columns that save reads a join', () => {
  it('do not change what instances of the previous version read', async () => {
    const before = await pulledBefore();
    await start();
    expect(await pulledBefore()).toEqual(before);
  });

  it('are filled for rows of the previous version, and the schema is that of a new database', async () => {
    await start();
    expect(await faults()).toEqual([]);
    expect(await heads()).toEqual([
      { path: 'deleted', text: 'two' },
      { path: 'restored', text: 'one' },
      { path: 'two', text: 'two' },
    ]);
    const made = await createDatabase();
    expect(await schemaText(database.query)).toBe(await schemaText(made.query));
    await made.drop();
  });

  /** Adds files with a version and a change each, like the previous version, and waits for the statistics. */
  async function addFiles(count: number): Promise<void> {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await client.query(
      `INSERT INTO files (workspace_id, id, encrypted_path, content_hash, encrypted_size, version, created_at, updated_at)
       SELECT $1, gen_random_uuid(), 'many' || n, 'x', 1, 1, now(), now() FROM generate_series(1, $2::int) n`,
      [workspaceId, count],
    );
    await client.query(
      `INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at)
       SELECT workspace_id, id, 'live', 'inline', 1, repeat('a', 64), 'x', now() FROM files WHERE encrypted_path LIKE 'many%'`,
    );
    await client.query(
      `INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, created_at)
       SELECT workspace_id, id, id, 1, id, 'x', 1, now() FROM files WHERE encrypted_path LIKE 'many%'`,
    );
    await client.query(
      `INSERT INTO changes (workspace_id, cursor, file_id, action, content_hash, encrypted_size, version, changed_at)
       SELECT workspace_id, 1000 + row_number() OVER (), id, 'upsert', 'x', 1, 1, now() FROM files WHERE encrypted_path LIKE 'many%'`,
    );
    await client.end();
    await database.eventually(
      `SELECT 1 WHERE NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = ${rows[0]?.pid})`,
    );
  }

  it('are filled for more rows than a page has', async () => {
    await addFiles(2500);
    await start();
    expect(await faults()).toEqual([]);
  });

  it.each([
    ['none', ''],
    ['those of a small workspace', 'ANALYZE files, versions, changes'],
  ])(
    'are filled without reading a large workspace for each page, with statistics: %s',
    async (_, analyze) => {
      const count = 10_000;
      if (analyze) await database.query(analyze);
      await addFiles(count);
      await database.query('SELECT pg_stat_reset()');
      await start();
      const read = await database.query<{ table: string; rows: number }>(
        `SELECT relname AS "table", (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int AS rows
       FROM pg_stat_user_tables WHERE relname IN ('files', 'versions', 'changes')`,
      );
      for (const { rows } of read) expect(rows).toBeLessThan(8 * count);
      expect(await faults()).toEqual([]);
    },
  );

  (isEngineThere ? it.skip : it)(
    'are not begun beside an instance where workspaces are on nodes, and nothing is changed',
    async () => {
      await database.query(`BEGIN; SET LOCAL allow_system_table_mods = on;
      CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char"); COMMIT`);
      await database.query(`INSERT INTO pg_dist_partition VALUES ('workspaces', 'h')`);
      await database.query(
        `INSERT INTO instances (id, alive_until) VALUES (gen_random_uuid(), now() + interval '1 hour')`,
      );
      const before = await schemaText(database.query);
      const applied = await database.query('SELECT name FROM migrations ORDER BY id');
      await expect(start()).rejects.toThrow(/^A service runs on this database; stop all instances/);
      expect(await schemaText(database.query)).toBe(before);
      expect(await database.query('SELECT name FROM migrations ORDER BY id')).toEqual(applied);
      await database.query('DELETE FROM instances');
      await start();
      expect(await faults()).toEqual([]);
      expect(await database.query(`SELECT tgname FROM pg_trigger WHERE tgname LIKE 'fill_%'`)).toEqual([]);
    },
  );

  it('are filled for rows that instances of the previous version write afterwards', async () => {
    await start();
    await put('new', 'by the new function');
    await put('two', 'three');
    await restore('two', 1);
    await restore('two', 1); // the same blob as the head
    await remove('new');
    await restore('deleted', 1);
    expect(await faults()).toEqual([]);
    await database.query(FUNCTIONS_BEFORE.template); // as between the migration and the functions
    await put('newer', 'by the old function');
    await put('two', 'four');
    await put('deleted', 'again');
    expect(await faults()).toEqual([]);
  });

  it('are filled for rows that are written during the migration', async () => {
    const upgrade = { isOver: false };
    const writes = (async () => {
      for (let n = 0; !upgrade.isOver || n < 20; n++) {
        await put(`meanwhile${n % 7}`, `text ${n}`);
        if (n % 5 === 4) await restore(`meanwhile${n % 7}`, 1);
        if (n % 7 === 6) await remove('meanwhile3');
      }
    })();
    await start();
    upgrade.isOver = true;
    await writes;
    expect(await faults()).toEqual([]);
  });

  it('are filled for a head that is written while its page waits for the lock', async () => {
    const writer = new pg.Client({ connectionString: database.url });
    await writer.connect();
    await writer.query('BEGIN');
    await writer.query('SELECT FROM workspaces WHERE id = $1 FOR NO KEY UPDATE', [workspaceId]);
    const started = start();
    await database.eventually(
      `SELECT 1 FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FOR NO KEY UPDATE'`,
    );
    const query = async <Row>(sql: string, values: unknown[] = []): Promise<Row[]> =>
      (await writer.query(sql, values)).rows as Row[];
    await uploadDirectly({ query }, { workspaceId, path: 'two', text: 'three' });
    await query(WRITES_BEFORE.restore, [workspaceId, await idOf('restored'), 2]);
    await query('COMMIT');
    await started;
    await writer.end();
    expect(await faults()).toEqual([]);
    expect(await heads()).toContainEqual({ path: 'two', text: 'three' });
    expect(await heads()).toContainEqual({ path: 'restored', text: 'two' });
  });

  it('are filled beside a deleted workspace whose purge was interrupted', async () => {
    await database.query('UPDATE workspaces SET deleted_at = now() WHERE id = $1', [workspaceId]);
    await database.query('DELETE FROM changes');
    await database.query('DELETE FROM versions');
    const other = await fill();
    await start();
    expect(await database.query(rowsStatements.faults.text, [other])).toEqual([]);
  });

  it('are filled for rows that are written between their migration and the next one', async () => {
    const [lean] = migrations.slice(baseline.length);
    await start([...baseline, lean as (typeof migrations)[number]], FUNCTIONS_BEFORE);
    await put('two', 'three');
    await restore('two', 1);
    await start();
    expect(await faults()).toEqual([]);
  });

  it.each([
    ['its columns', 'LOCK TABLE changes IN ACCESS SHARE MODE', 'LOCK TABLE files, changes'],
    ['the first page', 'SELECT FROM workspaces FOR UPDATE', 'FOR NO KEY UPDATE'],
    ['a constraint', 'LOCK TABLE versions IN ACCESS SHARE MODE', 'LOCK TABLE workspaces, blobs'],
  ])('are filled by the next start when one was killed at %s', async (_, lock, statement) => {
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    await holder.query(`BEGIN; ${lock}`);
    const killed = expect(start()).rejects.toMatchObject({ code: '57P01' });
    await database.eventually(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%${statement}%'`,
    );
    await killed;
    await holder.end();
    await put('two', 'three');
    await start();
    expect(await faults()).toEqual([]);
    expect(await heads()).toContainEqual({ path: 'two', text: 'three' });
  });
});
