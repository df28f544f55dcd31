import type pg from 'pg';
import { OperatorError } from '../../platform/config/index.js';
import {
  type Database,
  DURABLE,
  SHARED_COMMITS,
  sqlState,
  WITHOUT_LIMITS,
} from '../../platform/database/index.js';

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

/** While a backup begins, all commits of several nodes wait for it: not for longer than this, in ms, each time. */
const LOCK_WAIT_MS = 1_000;
const OPEN_WITHIN_MS = 10_000;
const ATTEMPTS = 10;

const LOCK_NOT_AVAILABLE = '55P03';

/** Opens the snapshots of all nodes. Another connection to one of them would have another snapshot. */
const OPEN_SNAPSHOTS = [
  'SET LOCAL citus.max_adaptive_executor_pool_size = 1',
  `SET LOCAL statement_timeout = ${OPEN_WITHIN_MS}`,
  'SELECT 1 FROM workspaces LIMIT 1',
  'SET LOCAL statement_timeout = 0',
];

/**
 * Lets the snapshots of the coordinator and of all nodes begin in a transaction that has none yet, while nothing is being committed
 * on several of them. On one server there is nothing to do.
 * @throws OperatorError when such a commit takes too long
 */
export async function openSnapshots(database: Database, client: pg.ClientBase): Promise<void> {
  if (!database.isDistributed) return;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++)
    if (await inOneTransaction(database, 'BEGIN', (holder) => openUnderLock(holder, client))) return;
  throw new OperatorError(
    'The backup cannot begin: a commit of several nodes takes too long. Try again when all nodes answer.',
  );
}

/** @returns false when a commit takes too long */
async function openUnderLock(holder: pg.ClientBase, client: pg.ClientBase): Promise<boolean> {
  await holder.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
  await holder.query('SAVEPOINT unlocked');
  try {
    await holder.query(`LOCK TABLE ${SHARED_COMMITS} IN SHARE MODE`);
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
    await holder.query('ROLLBACK TO unlocked');
    return false;
  }
  for (const sql of OPEN_SNAPSHOTS) await client.query(sql);
  return true;
}
