import { OperatorError } from '../../config/index.js';

type RowsOf = (sql: string) => Promise<readonly unknown[]>;

/** @throws OperatorError while an instance runs on the database, or has been killed less than half a minute ago */
export async function refuseRunningService(rowsOf: RowsOf): Promise<void> {
  const running = await rowsOf('SELECT 1 FROM instances WHERE alive_until > statement_timestamp() LIMIT 1');
  if (running.length > 0)
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
