import type pg from 'pg';
import { OperatorError } from '../config/index.js';
import {
  type Database,
  DURABLE,
  SHARED_COMMITS,
  sqlState,
  WITHOUT_LIMITS,
} from '../platform/database/index.js';

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

/** In the order in which the service takes them. */
const LOCK = [SHARED_COMMITS, 'owed_deletions', 'owed_unsubscriptions'].map(
  (table) => `LOCK TABLE ${table} IN SHARE MODE`,
);

/** Opens the snapshots of all nodes. Another connection to one of them would have another snapshot. */
const OPEN_SNAPSHOTS = [
  'SET LOCAL citus.max_adaptive_executor_pool_size = 1',
  `SET LOCAL statement_timeout = ${OPEN_WITHIN_MS}`,
  'SELECT 1 FROM workspaces LIMIT 1',
  'SET LOCAL statement_timeout = 0',
];

/**
 * Lets the snapshots of the coordinator and of all nodes begin in a transaction that has none yet, while nothing is being committed
 * on several of them and nothing is owed to a node: a backup with a workspace whose account is deleted could not be restored. On one
 * server there is nothing to do.
 * @param settle settles what is owed
 * @throws OperatorError when that is impossible for the moment
 */
export async function openSnapshots(
  database: Database,
  client: pg.ClientBase,
  settle: () => Promise<void>,
): Promise<void> {
  if (!database.isDistributed) return;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    await settle();
    if (await inOneTransaction(database, 'BEGIN', (holder) => openUnderLock(holder, client))) return;
  }
  throw new OperatorError(
    'The backup cannot begin: a commit of several nodes takes too long, or what is deleted is not yet removed from its node; ' +
      'the log of the service says why. Try again when all nodes answer.',
  );
}

/** @returns false when a commit takes too long, or something is owed */
async function openUnderLock(holder: pg.ClientBase, client: pg.ClientBase): Promise<boolean> {
  await holder.query(
    `SET LOCAL statement_timeout = ${OPEN_WITHIN_MS}; SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`,
  );
  await holder.query('SAVEPOINT unlocked');
  try {
    for (const sql of LOCK) await holder.query(sql);
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error;
    await holder.query('ROLLBACK TO unlocked');
    return false;
  }
  if (await isOwed(holder)) return false;
  for (const sql of OPEN_SNAPSHOTS) await client.query(sql);
  return true;
}

/** A workspace that its node does not have is not in the backup either. */
async function isOwed(holder: pg.ClientBase): Promise<boolean> {
  const devices = await holder.query('SELECT 1 FROM owed_unsubscriptions LIMIT 1');
  const { rows } = await holder.query<{ id: string }>('SELECT workspace_id AS id FROM owed_deletions');
  if (devices.rows.length > 0 || rows.length === 0) return devices.rows.length > 0;
  const ids = rows.map(({ id }) => id);
  return (
    (await holder.query('SELECT 1 FROM workspaces WHERE id = ANY ($1::uuid[]) LIMIT 1', [ids])).rows.length >
    0
  );
}

export async function appliedMigrations(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>('SELECT name FROM migrations ORDER BY id');
  return rows.map(({ name }) => name);
}
