import type pg from 'pg';
import { type Database, DURABLE, SHARED_COMMITS, WITHOUT_LIMITS } from '../platform/database/index.js';

/** Makes text output independent of the server's settings and disables timeouts for long operations. */
const SETTINGS = `
  ${WITHOUT_LIMITS}; ${DURABLE};
  SET client_encoding = 'UTF8'; SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres';
  SET bytea_output = 'hex'; SET extra_float_digits = 1;
`;

export const SNAPSHOT = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

/** Runs `work` in one transaction on a dedicated connection. @throws whatever `work` throws, after a rollback */
export async function inOneTransaction<T>(
  database: Database,
  begin: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = database.dedicatedClient('backup', 0); // a table may take hours
  client.on('error', () => undefined); // the current statement fails and reports the error
  await client.connect();
  try {
    await client.query(SETTINGS);
    await client.query(begin);
    const result = await work(client);
    const { command } = await client.query('COMMIT');
    if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}`);
    return result;
  } finally {
    await client.end().catch(() => undefined); // rolls back uncommitted work
  }
}

/** Opens the snapshots of all nodes. Another connection to one of them would have another snapshot. */
const OPEN_SNAPSHOTS = [
  'SET LOCAL citus.max_adaptive_executor_pool_size = 1',
  'SELECT 1 FROM workspaces LIMIT 1',
];

/**
 * Lets the snapshots of the coordinator and of all nodes begin in a transaction that has none yet, while nothing is being committed on several of
 * them. On one server there is nothing to do.
 */
export async function openSnapshots(database: Database, client: pg.ClientBase): Promise<void> {
  if (!database.isDistributed) return;
  await inOneTransaction(database, 'BEGIN', async (holder) => {
    await holder.query(`LOCK TABLE ${SHARED_COMMITS} IN SHARE MODE`);
    for (const sql of OPEN_SNAPSHOTS) await client.query(sql);
  });
}

export async function appliedMigrations(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>('SELECT name FROM migrations ORDER BY id');
  return rows.map(({ name }) => name);
}
