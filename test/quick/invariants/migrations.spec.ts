import { randomUUID } from 'node:crypto';
import pg from 'pg';
import type { MigrationInterface } from 'typeorm';
import { UPLOAD_FUNCTIONS } from '../../../src/domain/files/index.js';
import {
  createDataSource,
  type ServiceDataSource,
  migrate,
  underStartLock,
} from '../../../src/platform/database/index.js';
import { baseline, REPLACED_MIGRATIONS } from '../../../src/platform/database/migrations/index.js';
import { makeAsBeforeBaseline } from '../../kit/before-baseline.js';
import { uploadDirectly } from '../../kit/direct-upload.js';
import { createDatabase, type TestDatabase } from '../../kit/index.js';
import { expectCountedDocuments } from '../../kit/oracles.js';
import { THIS_NAMES, PLANTED, withPlanted } from '../../kit/planted-migrations.js';
import { schemaText } from '../../kit/schema-text.js';

type Version = readonly (new () => MigrationInterface)[];

const THIS = withPlanted(0);
const NEXT = withPlanted(PLANTED.length);

let schema: string;
beforeAll(async () => {
  const migrated = await createDatabase();
  schema = await schemaText(migrated.query);
  await migrated.drop();
});

let database: TestDatabase;
let sources: ServiceDataSource[];
beforeEach(async () => {
  database = await createDatabase({ isEmpty: true });
  sources = [];
});
afterEach(async () => {
  for (const source of sources) await source.destroy();
  await database.drop();
});

/** Migrates as a service of that version does when it starts. */
async function start(version: Version, functions = UPLOAD_FUNCTIONS): Promise<void> {
  const source = await sourceOf(version);
  await underStartLock(source, () => migrate(source, [functions]));
}

async function sourceOf(version: Version): Promise<ServiceDataSource> {
  const settings = { target: database.url, poolSize: 2, entities: [], onPoolError: () => undefined };
  const source = createDataSource({ ...settings, isWithoutTimeouts: true });
  source.setOptions({ migrations: version as never[] });
  sources.push(source);
  return source.initialize();
}

/** A separate connection whose transactions a test can keep open; it waits for a lock 1 s at most. */
async function connected(): Promise<Pick<TestDatabase, 'query'> & { end(): Promise<void> }> {
  const client = new pg.Client({ connectionString: database.url });
  client.on('error', () => undefined); // after a failed test, the database is dropped under it
  await client.connect();
  await client.query(`SET lock_timeout = '1s'`);
  return {
    query: async <Row>(sql: string, values: unknown[] = []) =>
      (await client.query(sql, values)).rows as Row[],
    end: () => client.end(),
  };
}

const waiting = (statement: string): string =>
  `SELECT pid FROM pg_stat_activity
   WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%${statement}%'`;

const waits = (statement: string): Promise<void> => database.eventually(waiting(statement));

async function applied(): Promise<string[]> {
  const rows = await database.query<{ name: string }>('SELECT name FROM migrations ORDER BY id');
  return rows.map(({ name }) => name);
}

const functions = async (): Promise<unknown[]> =>
  (
    await database.query<{ name: string }>(
      `SELECT proname AS name FROM pg_proc WHERE proname LIKE 'put\\_%' ORDER BY 1`,
    )
  ).map(({ name }) => name);

/** A start that fails because the server ends its connection just before a migration is recorded. */
async function killedStart(version: Version): Promise<void> {
  const holder = await connected();
  await holder.query('BEGIN; LOCK TABLE migrations IN SHARE MODE');
  const killed = expect(start(version)).rejects.toMatchObject({ code: '57P01' });
  await waits('INSERT INTO%migrations');
  await database.query(`SELECT pg_terminate_backend(pid) FROM (${waiting('INSERT INTO%migrations')}) AS one`);
  await killed;
  await holder.query('COMMIT');
  await holder.end();
}

/** Inserts a user and a workspace with two uploads. @returns the id of the workspace */
async function fill(): Promise<string> {
  const [user, notes] = [randomUUID(), randomUUID()];
  await database.query(`INSERT INTO users (id, email, name, email_verified) VALUES ($1, $2, 'ann', true)`, [
    user,
    `${user}@example.org`,
  ]);
  await database.query(
    `INSERT INTO workspaces (id, user_id, name, created_at, updated_at) VALUES ($1, $2, 'x', now(), now())`,
    [notes, user],
  );
  await put(database, notes, 'YQ', 'one');
  await put(database, notes, 'YQ', 'three');
  return notes;
}

/** Uploads as an instance of any version does. */
const put = (
  on: Pick<TestDatabase, 'query'>,
  workspaceId: string,
  path: string,
  text: string,
): Promise<void> => uploadDirectly(on, { workspaceId, path, text });

describe('the baseline', () => {
  it('is continued by the next start when a start was killed half-way', async () => {
    await start(baseline.slice(0, 5));
    await killedStart(THIS);
    expect(await applied()).toEqual(THIS_NAMES.slice(0, 5));
    expect(await database.query(`SELECT to_regclass('checkpoints') AS oid`)).toEqual([{ oid: null }]);
    await start(THIS);
    expect(await applied()).toEqual(THIS_NAMES);
    expect(await schemaText(database.query)).toBe(schema);
  });
});

describe('a database of the version before the baseline', () => {
  it('keeps its rows and the list of its migrations, and loses functions that nothing calls', async () => {
    await start(THIS);
    const notes = await fill();
    await makeAsBeforeBaseline(database);
    await start(THIS);
    expect(await applied()).toEqual([...REPLACED_MIGRATIONS, ...THIS_NAMES]);
    expect(await schemaText(database.query)).toBe(schema);
    await put(database, notes, 'Yg', 'after');
    await expectCountedDocuments(database);
    await start(NEXT);
    expect(await applied()).toEqual([
      ...REPLACED_MIGRATIONS,
      ...THIS_NAMES,
      ...PLANTED.map(({ name }) => name),
    ]);
  });

  it('is as before when the start was killed, and is migrated by the next start', async () => {
    await start(THIS);
    await makeAsBeforeBaseline(database);
    const before = await functions();
    await killedStart(THIS);
    expect(await applied()).toEqual(REPLACED_MIGRATIONS);
    expect(await functions()).toEqual(before);
    await start(THIS);
    expect(await functions()).toEqual(['put_documents', 'put_documents_of_many']);
    expect(await schemaText(database.query)).toBe(schema);
  });

  it('is refused and left alone when that version has not finished its migrations', async () => {
    await start(THIS);
    await makeAsBeforeBaseline(database);
    await database.query(`DELETE FROM migrations WHERE name = 'DatabaseIdentity1763600000054'`);
    await expect(start(THIS)).rejects.toMatchObject({
      name: 'OperatorError',
      message:
        'The version before has not finished its migrations (the last one is EndedSessions1763600000053); ' +
        'start that version once, which finishes them, then this one.',
    });
    expect(await applied()).toEqual(REPLACED_MIGRATIONS.slice(0, -1));
    expect(await functions()).toContain('put_file');
  });
});

describe('the functions that write uploads', () => {
  const rowsOf = (): Promise<unknown[]> =>
    database.query(`SELECT proname, xmin::text, prosrc FROM pg_proc WHERE proname LIKE 'put\\_%' ORDER BY 1`);

  it('are replaced by a start that has another text, after migrations, and by no other start', async () => {
    await start(THIS);
    const before = await rowsOf();
    await start(THIS);
    expect(await rowsOf()).toEqual(before);
    const { main, template } = UPLOAD_FUNCTIONS;
    await start(NEXT, {
      main,
      template: template.replaceAll('\nBEGIN\n', '\nBEGIN\n  -- of the next version\n'),
    });
    for (const row of await rowsOf())
      expect(row).toMatchObject({ prosrc: expect.stringContaining('of the next version') as string });
    const notes = await fill();
    expect(
      await database.query('SELECT count(*)::int AS rows FROM versions WHERE workspace_id = $1', [notes]),
    ).toEqual([{ rows: 2 }]);
  });
});

describe('a migration after the baseline', () => {
  let notes: string;
  beforeEach(async () => {
    await start(THIS);
    notes = await fill();
  });

  it('changes existing rows and keeps their content', async () => {
    for (let i = 0; i < 4; i++) await fill();
    await start(NEXT);
    expect(await applied()).toEqual([...THIS_NAMES, ...PLANTED.map(({ name }) => name)]);
    expect(await database.query('SELECT DISTINCT colour FROM workspaces')).toEqual([{ colour: 'grey' }]);
    await expectCountedDocuments(database);
  });

  it('can be repeated after a crash, and its index is complete', async () => {
    await start(NEXT);
    await database.query(`DELETE FROM migrations WHERE name = ANY ($1)`, [
      PLANTED.slice(1).map(({ name }) => name),
    ]);
    await database.query('DROP INDEX files_large; CREATE INDEX files_large ON files (version)');
    await fill();
    await start(NEXT);
    expect(await database.query('SELECT DISTINCT colour FROM workspaces')).toEqual([{ colour: 'grey' }]);
    const [index] = await database.query<{ text: string }>(
      `SELECT pg_get_indexdef(indexrelid) AS text FROM pg_index WHERE indexrelid = 'files_large'::regclass AND indisvalid`,
    );
    expect(index?.text).toMatch(/\(workspace_id, encrypted_size\)$/);
  });

  it('that builds an index blocks no reader or writer, and waits for transactions that began before', async () => {
    await start(withPlanted(1));
    const open = await connected();
    await open.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await open.query('SELECT FROM migrations');
    const migrated = start(NEXT);
    await waits('CREATE INDEX CONCURRENTLY');
    const older = await connected();
    await older.query('SELECT FROM workspaces JOIN files ON workspace_id = workspaces.id');
    await put(older, notes, 'Yw', 'meanwhile');
    await open.query('COMMIT');
    await migrated;
    for (const client of [open, older]) await client.end();
    await expectCountedDocuments(database);
  });

  it('that fills a column waits for a write by the previous version, and keeps it', async () => {
    await start(withPlanted(2));
    const older = await connected();
    await older.query('BEGIN');
    await put(older, notes, 'ZA', 'under way');
    const migrated = start(NEXT);
    await waits('UPDATE workspaces SET colour');
    await older.query('COMMIT');
    await migrated;
    await older.end();
    expect(await database.query('SELECT colour, head_cursor::int AS head FROM workspaces')).toEqual([
      { colour: 'grey', head: 3 },
    ]);
    await expectCountedDocuments(database);
  });

  it('does not wait for another instance that waits to start', async () => {
    const [first, second] = [await sourceOf(NEXT), await sourceOf(NEXT)];
    let starts: Promise<void> | undefined;
    await underStartLock(first, async () => {
      starts = underStartLock(second, () => migrate(second, [UPLOAD_FUNCTIONS]));
      await database.eventually(
        `SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE 'SELECT pg\\_%advisory\\_lock%' HAVING count(*) = 2`,
      );
      await migrate(first, [UPLOAD_FUNCTIONS]);
    });
    await starts;
    await expectCountedDocuments(database);
  });
});
