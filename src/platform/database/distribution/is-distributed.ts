import type { DataSource } from 'typeorm';
import { OperatorError } from '../../config/index.js';
import { isOnNodes } from '../running-service.js';
import { DISTRIBUTED_TABLES, SHARED_COMMITS } from './placement.js';

const TABLES = DISTRIBUTED_TABLES.map(({ table }) => `'${table}'::regclass`).join(', ');

/**
 * Whether `npm run distribute` has distributed the tables of this database.
 * @throws OperatorError when it has not done so to its end, or for an earlier version: lists would be wrong
 */
export async function isDistributed(source: DataSource): Promise<boolean> {
  if (!(await isOnNodes((sql) => source.query(sql)))) return false;
  const [placed] = await source.query<{ areAll: boolean }[]>(
    `SELECT count(*) FILTER (WHERE logicalrelid = '${SHARED_COMMITS}'::regclass) = 1
        AND count(*) FILTER (WHERE logicalrelid IN (${TABLES}) AND partmethod <> 'n') = ${DISTRIBUTED_TABLES.length} AS "areAll"
     FROM pg_dist_partition`,
  );
  if (!placed?.areAll)
    throw new OperatorError(
      'The tables of this database are not yet distributed for this version; run `npm run distribute`.',
    );
  return true;
}
