import type { DataSource } from 'typeorm';

/** Whether `npm run distribute` has distributed the tables of this database. */
export async function isDistributed(source: DataSource): Promise<boolean> {
  // Without the extension there is no table to ask.
  const [engine] = await source.query<{ isHere: boolean }[]>(
    `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS "isHere"`,
  );
  if (!engine?.isHere) return false;
  const placed = await source.query<object[]>(
    `SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'workspaces'::regclass AND partmethod <> 'n'`,
  );
  return placed.length > 0;
}
