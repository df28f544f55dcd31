import type { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import {
  DISTRIBUTED_TABLES,
  isDistributed,
  SHARED_COMMITS,
} from '../../../src/platform/database/distribution/index.js';
import { baseline, migrations } from '../../../src/platform/database/migrations/index.js';
import { isEngineThere } from '../../kit/distributed-database.js';
import { createDatabase, type TestDatabase } from '../../kit/index.js';
import { PLANTED } from '../../kit/planted-migrations.js';

const NAMES = DISTRIBUTED_TABLES.map(({ table }) => table);
const UNFINISHED = /not yet distributed for this version; run `npm run distribute`/;

/** Creates the catalogue table of the engine on a server without it. */
const CATALOGUE = `
  SET allow_system_table_mods = on;
  CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass NOT NULL, partmethod "char" NOT NULL)`;

// An engine has that table already.
(isEngineThere ? describe.skip : describe)('a database of an engine that distributes tables', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  const ask = (): Promise<boolean> =>
    isDistributed({ query: (sql: string) => database.query(sql) } as unknown as DataSource);
  const place = (tables: readonly string[], method: string) =>
    database.query(`INSERT INTO pg_dist_partition SELECT unnest($1::text[])::regclass, $2::"char"`, [
      tables,
      method,
    ]);

  it('is used only when all of its tables are where this version expects them', async () => {
    expect(await ask()).toBe(false);
    await database.query(CATALOGUE);
    expect(await ask()).toBe(false);
    const [root, last, ...rest] = NAMES;
    await place([String(root), ...rest], 'h');
    await expect(ask()).rejects.toThrow(UNFINISHED);
    await place([SHARED_COMMITS], 'n');
    await expect(ask()).rejects.toThrow(UNFINISHED); // a new version has another table
    await place([String(last)], 'n');
    await expect(ask()).rejects.toThrow(UNFINISHED);
    await database.query(`DELETE FROM pg_dist_partition WHERE logicalrelid = '${last}'::regclass`);
    await place([String(last)], 'h');
    expect(await ask()).toBe(true);
  });
});

const CHANGE = new RegExp(
  `\\b(?:ALTER (?:TABLE|INDEX)|CREATE (?:UNIQUE )?INDEX|DROP INDEX|CREATE TRIGGER)\\b[^;]*?\\b(${NAMES.join('|')})\\b`,
);
const REFUSED = /\b(?:CREATE TRIGGER|SET STATISTICS|RENAME CONSTRAINT)\b/;

/** Why the engine refuses a text that changes a table of workspaces, undefined when it does not. */
function faultOf(sql: string): string | undefined {
  if (!CHANGE.test(sql)) return undefined;
  if (REFUSED.test(sql)) return 'it is not possible on distributed tables';
  return sql.trim().replace(/;$/, '').includes(';') ? 'it stands beside another statement' : undefined;
}

type MigrationClass = new () => Pick<MigrationInterface, 'up'>;

async function faultsIn(Migration: MigrationClass): Promise<string[]> {
  const sent: string[] = [];
  const query = (sql: string): Promise<unknown[]> => Promise.resolve((sent.push(sql), []));
  await new Migration().up({ query } as never);
  expect(sent.length).toBeGreaterThan(0);
  const changed = new Set(sent.map((sql) => CHANGE.exec(sql)?.[1]).filter(Boolean));
  // Uploads lock several tables in their own order, with which a migration could deadlock.
  const several = changed.size > 1 ? [`it changes ${[...changed].join(' and ')}`] : [];
  return [...sent.map(faultOf).filter((fault) => fault !== undefined), ...several];
}

const sending = (...statements: string[]): MigrationClass =>
  class {
    async up(runner: QueryRunner): Promise<void> {
      for (const sql of statements) await runner.query(sql);
    }
  };

describe('a migration of a database that is already distributed', () => {
  it.each([
    ['ALTER TABLE files ADD COLUMN a text', undefined],
    [' ALTER TABLE files ADD COLUMN a text;\n', undefined],
    ['CREATE TABLE a (id int); CREATE INDEX a_id ON a (id)', undefined],
    ['CREATE TABLE a (workspace_id uuid REFERENCES workspaces); CREATE TABLE b (id int)', undefined],
    ['ALTER TABLE files ADD COLUMN a text; ALTER TABLE users ADD COLUMN a text', /beside another/],
    ['CREATE TABLE a (id int); CREATE INDEX files_a ON files (workspace_id, a)', /beside another/],
    ['CREATE TRIGGER a BEFORE INSERT ON files EXECUTE FUNCTION f()', /not possible/],
    ['ALTER TABLE blobs ALTER COLUMN size SET STATISTICS 10', /not possible/],
  ])('has a fault exactly when the engine would refuse it: %s', (sql, fault) => {
    if (fault) expect(faultOf(sql)).toMatch(fault);
    else expect(faultOf(sql)).toBeUndefined();
  });

  const PATCHES = ['ALTER TABLE files ADD COLUMN a text', 'ALTER TABLE blobs ADD COLUMN a text'];

  it('has a fault when it changes two tables of workspaces', async () => {
    await expect(
      faultsIn(sending('ALTER TABLE files ADD a text; ALTER TABLE users ADD a text')),
    ).resolves.toEqual(['it stands beside another statement']);
    await expect(faultsIn(sending(...PATCHES))).resolves.toEqual(['it changes files and blobs']);
    await expect(faultsIn(sending(...PATCHES.slice(1)))).resolves.toEqual([]);
  });

  /** Lock the tables in the order of uploads, and create triggers only where tables are not distributed. */
  const LOCKING_FIRST = ['LeanColumns1764500000001', 'LeanReads1764500000002'];

  // The baseline runs before its tables are distributed.
  it.each(
    [...migrations.slice(baseline.length), ...PLANTED]
      .filter(({ name }) => !LOCKING_FIRST.includes(name))
      .map((Migration) => [Migration.name, Migration] as const),
  )('changes at most one table of workspaces, in separate statements: %s', async (_, Migration) => {
    await expect(faultsIn(Migration)).resolves.toEqual([]);
  });
});
