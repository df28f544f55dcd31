import { DataSource, type EntityMetadata } from 'typeorm';
import { startService, type TestService } from '../../kit/service.js';

let service: TestService;
let source: DataSource;

beforeAll(async () => {
  service = await startService();
  source = service.app.get(DataSource);
});
afterAll(() => service.close());

/** Tables that TypeORM itself writes, or only statements of a distributed database. */
const WITHOUT_ENTITY = ['migrations', 'shared_commits'];

/** Columns that PostgreSQL alone writes and no entity reads: a driver of TypeORM does not know the type. */
const WITHOUT_PROPERTY = ['ended_sessions.transaction'];

/** One row for each column, as the migrations leave it. */
const COLUMNS = `
  SELECT c.relname || '.' || a.attname AS name,
         format_type(a.atttypid, NULL) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END ||
         CASE WHEN a.attnum = ANY (k.conkey) THEN ' KEY' ELSE '' END AS type
  FROM pg_class c
  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p'
  WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.relname <> ALL ($1)`;

async function columnsOfSchema(): Promise<string[]> {
  const rows = await service.database.query<{ name: string; type: string }>(COLUMNS, [WITHOUT_ENTITY]);
  return rows
    .filter(({ name }) => !WITHOUT_PROPERTY.includes(name))
    .map(({ name, type }) => `${name} ${type}`)
    .sort();
}

const columnsOf = ({ tableName, columns }: EntityMetadata): string[] =>
  columns.map((column) => {
    const type = `${source.driver.normalizeType(column)}${column.isArray ? '[]' : ''}`;
    const rules = `${column.isNullable ? '' : ' NOT NULL'}${column.isPrimary ? ' KEY' : ''}`;
    return `${tableName}.${column.databaseName} ${type}${rules}`;
  });

describe('entities', () => {
  it('equal the tables that the migrations create: columns, types, NULL and keys', async () => {
    expect(source.entityMetadatas.flatMap(columnsOf).sort()).toEqual(await columnsOfSchema());
  });
});
