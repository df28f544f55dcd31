import type { ClientBase } from 'pg';
import { endWhenSilent } from './silence.js';

/** The server ends what takes too long: a client-side limit would leave it running. In ms. */
const LIMITS = { statement: 10_000, lock: 3_000, idleInTransaction: 15_000 };

/** By then the server has answered, if only that the statement took too long: what is silent for longer is not there any more. In ms. */
const SILENT_MS = LIMITS.statement + 2_000;

const LIMITED = [
  `SET statement_timeout = ${LIMITS.statement}`,
  `SET lock_timeout = ${LIMITS.lock}`,
  `SET idle_in_transaction_session_timeout = ${LIMITS.idleInTransaction}`,
  'SET idle_session_timeout = 0', // the pool ends what it does not need
];

/** For a connection of its own whose work takes as long as it takes, or that is idle with a lock. Not every server has all of them. */
export const WITHOUT_LIMITS = `
  SELECT set_config(name, '0', false) FROM pg_settings
  WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_session_timeout',
                 'idle_in_transaction_session_timeout')`;

/** What is acknowledged outlives a crash. A server that waits for more than its own disk goes on to do so. */
export const DURABLE = `
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

/** What the promises rest on, whatever a server, a role or a URL set for its connections. */
const PROMISED = [
  // A decision under a lock sees what was committed before the lock was had.
  `SET default_transaction_isolation = 'read committed'`,
  DURABLE,
  `SET datestyle = 'ISO'`,
];

/**
 * Every statement of a request is found by index. A plan that was made while a table had one page would read all of it, and
 * stays in the connection until the table is analyzed again; compiling a statement takes longer than running it. A plan made for
 * the values of one request takes them for rarer than they are, and is made anew five times in each connection: a page of a
 * large snapshot took 147 ms with it and 2 ms with the plan for all.
 */
const PLANNED = ['SET enable_seqscan = off', 'SET jit = off', `SET plan_cache_mode = 'force_generic_plan'`];

/**
 * The first that a connection of the pool says. Not as parameters of its start: a pooler refuses those, and `options` in a URL
 * would replace them.
 */
const SETTINGS = [...LIMITED, ...PROMISED, ...PLANNED].join('; ');

/** Makes a new connection one that migrates, and holds the start lock meanwhile. */
export async function beginUnhurried(client: ClientBase): Promise<void> {
  await client.query(WITHOUT_LIMITS);
}

/** Makes a new connection one of the pool's. */
export async function beginSession(client: ClientBase): Promise<void> {
  endWhenSilent(client, SILENT_MS);
  await client.query(SETTINGS);
}
