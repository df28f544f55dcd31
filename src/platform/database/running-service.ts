import { OperatorError } from '../config/index.js';

export type RowsOf = (sql: string) => Promise<readonly unknown[]>;

/** Whether an instance runs on the database, or has been killed less than half a minute ago. Its lease is by the database's clock. */
export async function isServiceRunning(rowsOf: RowsOf): Promise<boolean> {
  return (
    (await rowsOf('SELECT 1 FROM instances WHERE alive_until > statement_timestamp() LIMIT 1')).length > 0
  );
}

/** @throws OperatorError when a service is running, as of `isServiceRunning` */
export async function refuseRunningService(rowsOf: RowsOf): Promise<void> {
  if (await isServiceRunning(rowsOf))
    throw new OperatorError(
      'A service runs on this database; stop all instances, wait a minute and try again.',
    );
}

/** Whether an engine distributes the tables of workspaces, or has begun to. */
export async function isOnNodes(rowsOf: RowsOf): Promise<boolean> {
  const hasEngine = await rowsOf(`SELECT 1 WHERE to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL`);
  if (hasEngine.length === 0) return false;
  const workspaces = `logicalrelid = to_regclass('workspaces') AND partmethod <> 'n'`;
  return (await rowsOf(`SELECT 1 FROM pg_dist_partition WHERE ${workspaces}`)).length > 0;
}
