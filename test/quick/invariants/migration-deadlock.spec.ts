import pg from 'pg';
import { DataSource, type QueryRunner } from 'typeorm';
import { SILENT } from '../../../src/platform/database/data-source.js';
import { migrate } from '../../../src/platform/database/migrate.js';
import { createDatabase, eventually, type TestDatabase } from '../../kit/index.js';

let database: TestDatabase;
let writer: pg.Client;
beforeAll(async () => {
  database = await createDatabase({ isEmpty: true });
  writer = new pg.Client({ connectionString: database.url });
  await writer.connect();
});
afterAll(async () => {
  await writer.end();
  await database.drop();
});

const WAITS = `SELECT 1 FROM pg_locks WHERE relation = 'first'::regclass AND NOT granted`;

let attempts = 0;
let written: Promise<unknown> | undefined;

/** Deadlocks with a writer that has locked `second` and waits for `first`. The server ends the migration. */
class Meeting1763600000001 {
  readonly name = 'Meeting1763600000001';

  async up(runner: QueryRunner): Promise<void> {
    attempts++;
    await runner.query(`SET LOCAL deadlock_timeout = '1ms'`);
    await runner.query('LOCK TABLE first');
    if (attempts === 1) {
      written = writer.query('LOCK TABLE first; COMMIT');
      await eventually(async () => expect(await database.query(WAITS)).toHaveLength(1));
    }
    await runner.query('LOCK TABLE second');
    await runner.query('CREATE TABLE migrated (id integer)');
  }

  async down(): Promise<void> {
    // Nothing calls it.
  }
}

it('a migration that is ended for a deadlock with a write is run again', async () => {
  await database.query('CREATE TABLE first (id integer); CREATE TABLE second (id integer)');
  await writer.query(`SET deadlock_timeout = '1h'; BEGIN; LOCK TABLE second`);
  const migrations = [Meeting1763600000001];
  const source = new DataSource({ type: 'postgres', url: database.url, migrations, logger: SILENT });
  await source.initialize();
  try {
    await migrate(source, []);
  } finally {
    await source.destroy();
  }
  await written;
  expect(attempts).toBe(2);
  expect(await database.query('SELECT name FROM migrations')).toEqual([{ name: 'Meeting1763600000001' }]);
  expect(await database.query('SELECT id FROM migrated')).toEqual([]);
});
