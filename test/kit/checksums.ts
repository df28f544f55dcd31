import type { TestDatabase } from './database.js';

/** The contents of every table, as one string per table: the number of rows and their checksum. */
export type Checksums = Readonly<Record<string, string>>;

/** Columns that change whenever a token is used, or with each heartbeat of a service. */
const MOVE_BY_THEMSELVES = `'{last_used_at,alive_until,trusted_until}'::text[]`;

/** Reads the whole database in one statement, without columns that change by themselves. Includes new tables automatically. */
export async function checksums(database: TestDatabase): Promise<Checksums> {
  const tables = await database.queryPrepared<{ name: string; moves: boolean }>(
    `SELECT tablename AS name, EXISTS (
       SELECT FROM pg_attribute WHERE attrelid = tablename::regclass AND attname = ANY (${MOVE_BY_THEMSELVES})
     ) AS moves FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
  );
  const each = tables.map(({ name, moves }) => {
    const row = moves ? `to_jsonb(t) - ${MOVE_BY_THEMSELVES}` : 't';
    return `SELECT '${name}' AS name, format('%s rows, %s', count(*), sum(hashtextextended((${row})::text, 0)::numeric)) AS sum FROM ${name} t`;
  });
  const rows = await database.queryPrepared<{ name: string; sum: string }>(each.join(' UNION ALL '));
  return Object.fromEntries(rows.map(({ name, sum }) => [name, sum]));
}

/** The tables that differ. */
export function changedTables(before: Checksums, after: Checksums): string[] {
  return Object.keys(after).filter((table) => before[table] !== after[table]);
}
