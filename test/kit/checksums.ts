import type { TestDatabase } from './database.js';

/** What every table holds, as one text per table: the number of its rows and a checksum of them. */
export type Checksums = Readonly<Record<string, string>>;

/**
 * Looks at the whole database in one statement. What moves by itself is left out: `last_used_at` with each use of a token,
 * `alive_until` with each beat of a service.
 * New tables are in it without being named.
 */
export async function checksums(database: TestDatabase): Promise<Checksums> {
  const tables = await database.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
  );
  const each = tables.map(
    ({ name }) =>
      `SELECT '${name}' AS name, format('%s rows, %s', count(*),
         sum(hashtextextended((to_jsonb(t) - '{last_used_at,alive_until}'::text[])::text, 0)::numeric)) AS sum FROM ${name} t`,
  );
  const rows = await database.query<{ name: string; sum: string }>(each.join(' UNION ALL '));
  return Object.fromEntries(rows.map(({ name, sum }) => [name, sum]));
}

/** The tables that differ. */
export function changedTables(before: Checksums, after: Checksums): string[] {
  return Object.keys(after).filter((table) => before[table] !== after[table]);
}
