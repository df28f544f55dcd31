import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { DataSource } from 'typeorm';
import { createDataSource, migrate, underStartLock } from '../../src/platform/database/index.js';
import { migrations } from '../../src/platform/database/migrations/index.js';
import { createDatabase, sha256, type TestDatabase } from '../kit/index.js';
import { expectCountedDocuments } from '../kit/oracles.js';

const BEFORE_USAGE = 24;
const BEFORE_INDEX = 28;
const BEFORE_COUNT = 29;
const COUNTED = 31;
const ALL = Infinity;

const ANN = randomUUID();
const notes = randomUUID();
const empty = randomUUID();
const deleted = randomUUID();

let database: TestDatabase;
let sources: DataSource[];
beforeEach(async () => {
  database = await createDatabase({ isEmpty: true });
  sources = [];
  await migrateTo(BEFORE_USAGE);
  await database.query(
    `INSERT INTO users (id, email, name, email_verified, created_at) VALUES ($1, 'ann@example.org', 'ann', true, '2026-01-01Z')`,
    [ANN],
  );
  for (const id of [notes, empty, deleted])
    await database.query(
      `INSERT INTO workspaces (id, user_id, name, created_at, updated_at) VALUES ($1, $2, 'x', now(), now())`,
      [id, ANN],
    );
  await put(database, notes, 'YQ', 'one');
  await put(database, notes, 'YQ', 'three');
  await put(database, notes, 'Yg', 'b');
  await put(database, deleted, 'YQ', 'gone');
  await database.query('UPDATE workspaces SET deleted_at = now() WHERE id = $1', [deleted]);
});
afterEach(async () => {
  for (const source of sources) await source.destroy();
  await database.drop();
});

/** As a service of the version that has the migrations up to this number does when it starts. */
async function migrateTo(number: number): Promise<void> {
  const source = await sourceOf(number);
  await underStartLock(source, () => migrate(source));
}

async function sourceOf(number: number): Promise<DataSource> {
  const settings = { target: database.url, poolSize: 2, entities: [], onPoolError: () => undefined };
  const source = createDataSource({ ...settings, isWithoutTimeouts: true });
  const known = migrations.filter(({ name }) => Number(name.slice(-2)) <= number);
  source.setOptions({ migrations: known as never[] });
  sources.push(source);
  return source.initialize();
}

/** As an instance of the version before usage does. */
async function put(
  { query }: Pick<TestDatabase, 'query'>,
  workspace: string,
  path: string,
  text: string,
): Promise<void> {
  const ids = [randomUUID(), randomUUID(), randomUUID()];
  const [row] = await query<{ outcome: string }>(
    `SELECT outcome FROM put_file($1, $2, $3, $4, 'old', now(), $5, $6, $7, $8, null, false)`,
    [workspace, path, sha256(text), text.length, ...ids, Buffer.from(text)],
  );
  expect(row?.outcome).toMatch(/^(created|updated)$/);
}

/** A connection of its own, whose transactions a test keeps open, and which waits for no lock. */
async function connected(): Promise<Pick<TestDatabase, 'query'> & { end(): Promise<void> }> {
  const client = new pg.Client({ connectionString: database.url });
  client.on('error', () => undefined); // a test that fails leaves it to the end of the database
  await client.connect();
  await client.query(`SET lock_timeout = '1s'`);
  return {
    query: async <Row>(sql: string, values: unknown[] = []) =>
      (await client.query(sql, values)).rows as Row[],
    end: () => client.end(),
  };
}

async function countOf(workspace: string): Promise<number> {
  const [row] = await database.query<{ bytes: string }>(
    'SELECT document_bytes AS bytes FROM workspaces WHERE id = $1',
    [workspace],
  );
  return Number(row?.bytes);
}

const waits = (statement: string): Promise<void> =>
  database.eventually(
    `SELECT FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%${statement}%'`,
  );

it('confirms no address that nobody has confirmed', async () => {
  await database.query('UPDATE users SET email_verified = false WHERE id = $1', [ANN]);
  await migrateTo(ALL);
  const users = await database.query('SELECT email_verified FROM users');
  expect(users).toEqual([{ email_verified: false }]);
});

describe('the usage of documents, in an upgrade', () => {
  it('counts the bytes of kept versions, each blob once, including those that no version was left out of', async () => {
    await database.query(
      `INSERT INTO versions (workspace_id, id, file_id, version, blob_id, content_hash, encrypted_size, created_at)
       SELECT workspace_id, gen_random_uuid(), file_id, 3, blob_id, content_hash, encrypted_size, now()
       FROM versions WHERE workspace_id = $1 AND encrypted_size = 3`,
      [notes],
    );
    await database.query(
      `INSERT INTO blobs (workspace_id, id, state, location, size, sha256, bytes, created_at, not_before)
       VALUES ($1, gen_random_uuid(), 'dying', 'inline', 2, $2, 'zz', now(), now())`,
      [notes, sha256('zz')],
    );
    await migrateTo(ALL);
    expect(await Promise.all([notes, empty].map(countOf))).toEqual([3 + 5 + 1, 0]);
    await expectCountedDocuments(database);
  });

  it('counts writes of older instances meanwhile, including those under way, once', async () => {
    await migrateTo(BEFORE_COUNT);
    await put(database, notes, 'Yw', 'meanwhile');
    const older = await connected();
    await older.query('BEGIN');
    await put(older, notes, 'ZA', 'under way');
    const migrated = migrateTo(ALL);
    await waits('SET document_bytes');
    await older.query('COMMIT');
    await migrated;
    await older.end();
    expect(await countOf(notes)).toBe(9 + 'meanwhile'.length + 'under way'.length);
    await expectCountedDocuments(database);
  });

  it('is the same after a start that a crash has ended, and the index of deleted files is complete', async () => {
    await migrateTo(COUNTED);
    await database.query('DELETE FROM migrations WHERE right(name, 2)::int > $1', [BEFORE_INDEX]);
    await database.query('DROP INDEX files_deleted; CREATE INDEX files_deleted ON files (version)');
    await migrateTo(ALL);
    await expectCountedDocuments(database);
    const [index] = await database.query<{ text: string }>(
      `SELECT pg_get_indexdef(indexrelid) AS text FROM pg_index WHERE indexrelid = 'files_deleted'::regclass AND indisvalid`,
    );
    expect(index?.text).toMatch(/\(workspace_id, id\) WHERE is_deleted$/);
  });

  it('blocks no reader or writer, and waits for transactions that began before', async () => {
    await migrateTo(BEFORE_INDEX);
    const open = await connected();
    await open.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await open.query('SELECT FROM migrations');
    const migrated = migrateTo(ALL);
    await waits('CREATE INDEX CONCURRENTLY');
    const older = await connected();
    await older.query('SELECT FROM workspaces JOIN files ON workspace_id = workspaces.id');
    await put(older, notes, 'Yw', 'meanwhile');
    await open.query('COMMIT');
    await migrated;
    for (const client of [open, older]) await client.end();
    await expectCountedDocuments(database);
  });

  it('does not wait for another instance that waits to start', async () => {
    const [first, second] = [await sourceOf(ALL), await sourceOf(ALL)];
    let starts: Promise<void> | undefined;
    await underStartLock(first, async () => {
      starts = underStartLock(second, () => migrate(second));
      await database.eventually(
        `SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE 'SELECT pg\\_%advisory\\_lock%' HAVING count(*) = 2`,
      );
      await migrate(first);
    });
    await starts;
    await expectCountedDocuments(database);
  });
});

describe('the data of earlier versions in an upgrade', () => {
  it('keeps the time up to which they have lived, and the networks of sessions', async () => {
    await database.query(`INSERT INTO job_runs (name, started_at) VALUES ('retention', '2026-02-01Z')`);
    const sessions = [
      ['203.0.113.9', '2026-02-03Z'],
      ['203.0.113.9', '2026-02-02Z'],
      ['198.51.100.7', '2026-01-02Z'],
      ['2001:db8::1', '2026-01-02Z'],
      ['', '2026-01-02Z'],
      [null, '2026-01-02Z'],
    ];
    for (const [address, at] of sessions)
      await database.query(
        `INSERT INTO auth_sessions (user_id, token, expires_at, ip_address, updated_at)
         VALUES ($1, gen_random_uuid(), now(), $2, $3)`,
        [ANN, address, at],
      );
    await migrateTo(ALL);
    const trusted = 'SELECT trusted_until, doubted_from, doubted_until FROM trusted_time';
    expect(await database.query(trusted)).toEqual([
      { trusted_until: new Date('2026-02-03Z'), doubted_from: null, doubted_until: null },
    ]);
    expect(await database.query('SELECT * FROM known_networks ORDER BY network')).toEqual([
      { user_id: ANN, network: 'network:198.51.100.7', last_seen_at: new Date('2026-01-02Z') },
      { user_id: ANN, network: 'network:203.0.113.9', last_seen_at: new Date('2026-02-03Z') },
    ]);
  });
});
