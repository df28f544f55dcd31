import type { TestDatabase } from './database.js';

/** What every table holds, as one text per table: the number of its rows and a checksum of them. */
export type Checksums = Readonly<Record<string, string>>;

/** Columns that change with each use of a token, with each beat of a service. */
const MOVE_BY_THEMSELVES = `'{last_used_at,alive_until,trusted_until}'::text[]`;

/** Looks at the whole database in one statement, but for what moves by itself. New tables are in it without being named. */
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
