import type { DataSource } from 'typeorm';
import { OperatorError } from '../../../config/index.js';
import { DISTRIBUTED_TABLES, SHARED_COMMITS } from './placement.js';

const TABLES = DISTRIBUTED_TABLES.map(({ table }) => `'${table}'::regclass`).join(', ');

/**
 * Whether `npm run distribute` has distributed the tables of this database.
 * @throws OperatorError when it has not done so to its end, or for an earlier version: lists would be wrong
 */
export async function isDistributed(source: DataSource): Promise<boolean> {
  // Without the extension there is no table to ask.
  const [engine] = await source.query<{ isHere: boolean }[]>(
    `SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS "isHere"`,
  );
  if (!engine?.isHere) return false;
  const [placed] = await source.query<{ isDone: boolean }[]>(
    `SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = '${SHARED_COMMITS}'::regclass)
       AND ${DISTRIBUTED_TABLES.length} = (
         SELECT count(*) FROM pg_dist_partition WHERE logicalrelid IN (${TABLES}) AND partmethod <> 'n'
       ) AS "isDone"
     FROM pg_dist_partition WHERE logicalrelid = 'workspaces'::regclass AND partmethod <> 'n'`,
  );
  if (placed && !placed.isDone)
    throw new OperatorError(
      'The tables of this database are not yet distributed for this version; run `npm run distribute`.',
    );
  return placed !== undefined;
}
