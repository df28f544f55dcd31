import type { Socket } from 'node:net';
import type { Client, ClientBase } from 'pg';

/** After a pause of this process, answers that arrived in the meantime are read first. */
const SECOND_LOOK_MS = 500;
const GOODBYE_WITHIN_MS = 1_000;

/**
 * Destroys a connection on which nothing was received or sent for this long. The server cancels a statement that takes too
 * long, so a silent connection is one that the network has lost: otherwise its caller would wait forever, and the pool would
 * never get its connection back.
 */
export function endWhenSilent(client: ClientBase, afterMs: number): void {
  const stream = streamOf(client);
  stream.setTimeout(afterMs);
  stream.on('timeout', () => {
    const { bytesRead, bytesWritten } = stream;
    setTimeout(() => {
      const isStill = stream.bytesRead === bytesRead && stream.bytesWritten === bytesWritten;
      if (isStill && stream.timeout) stream.destroy(silence());
    }, SECOND_LOOK_MS).unref();
  });
}

/** Runs `work` while the connection may be silent, for example while it waits for a lock. */
export async function withoutSilenceLimit<T>(client: ClientBase, work: () => Promise<T>): Promise<T> {
  const stream = streamOf(client);
  const afterMs = stream.timeout ?? 0;
  stream.setTimeout(0);
  try {
    return await work();
  } finally {
    stream.setTimeout(afterMs);
  }
}

/** Closes a connection outside the pool, after a short wait also when the server does not answer. Never rejects. */
export async function endQuietly(client: Client): Promise<void> {
  const giveUp = setTimeout(() => streamOf(client).destroy(), GOODBYE_WITHIN_MS);
  await client.end().catch(() => undefined);
  clearTimeout(giveUp);
}

/** Counts as a lost connection. */
function silence(): Error {
  return Object.assign(new Error('the database server no longer answers'), { code: 'ETIMEDOUT' });
}

/** Reaches into the driver, which has no API for this. */
function streamOf(client: ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}

/** Server-side limits, in ms: a client-side limit would leave the statement running. */
const LIMITS = { statement: 10_000, lock: 3_000, idleInTransaction: 15_000, connectToNode: 3_000 };

/**
 * By then the server has answered, even if only that the statement took too long; if silent for longer, the connection is
 * dead. In ms.
 */
const SILENT_MS = LIMITS.statement + 2_000;

const LIMITED = [
  `SET statement_timeout = ${LIMITS.statement}`,
  `SET lock_timeout = ${LIMITS.lock}`,
  `SET idle_in_transaction_session_timeout = ${LIMITS.idleInTransaction}`,
  'SET idle_session_timeout = 0', // the pool closes idle connections itself
  `SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout'`, // PostgreSQL 15 has none
];

/**
 * For a dedicated connection whose work has no time limit, or that is idle while it holds a lock. Not every server knows all
 * of these settings.
 */
export const WITHOUT_LIMITS = `
  SELECT set_config(name, '0', false) FROM pg_settings
  WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_session_timeout',
                 'idle_in_transaction_session_timeout')`;

/** Acknowledged writes survive a crash. A server that waits for more than its own disk keeps doing so. */
export const DURABLE = `
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

/** Settings that the service's guarantees depend on, whatever a server, a role or a URL sets for its connections. */
const PROMISED = [
  // A decision under a lock must see what was committed before the lock was acquired.
  `SET default_transaction_isolation = 'read committed'`,
  DURABLE,
  `SET datestyle = 'ISO'`,
];

/**
 * Every statement of a request uses an index. A plan made while a table had one page would scan all of it, and stays in the
 * connection until the table is analyzed again; JIT compilation takes longer than the statement. A custom plan for the values
 * of one request underestimates how frequent they are, and each connection makes it five times: a page of a large snapshot
 * took 147 ms with a custom plan and 2 ms with the generic one.
 */
const PLANNED = ['SET enable_seqscan = off', 'SET jit = off', `SET plan_cache_mode = 'force_generic_plan'`];

/**
 * With Citus, a statement goes to the node of the values that it has, so a plan for all values is impossible. A change to all
 * nodes must not be made in parallel: it may follow one to another table of theirs, in the same transaction. A silent node must
 * be known before the statement takes too long.
 */
const ON_CITUS = `
  SELECT set_config('plan_cache_mode', 'auto', false), set_config('citus.multi_shard_modify_mode', 'sequential', false),
         set_config('citus.node_connection_timeout', '${LIMITS.connectToNode}', false)
  FROM pg_extension WHERE extname = 'citus'`;

/**
 * The first statement on a connection of the pool. Not startup parameters: a pooler refuses those, and `options` in a URL
 * would replace them.
 */
const SETTINGS = [...LIMITED, ...PROMISED, ...PLANNED, ON_CITUS].join('; ');

/** With Citus, a transaction that has changed a table of all nodes in parallel can create no function, and change no other table. */
const ONE_NODE_AFTER_THE_OTHER = `
  SELECT set_config('citus.multi_shard_modify_mode', 'sequential', false) FROM pg_extension WHERE extname = 'citus'`;

/** Prepares a new connection for migrations and for holding the start lock. */
export async function beginWithoutTimeouts(client: ClientBase): Promise<void> {
  await client.query(`${WITHOUT_LIMITS}; ${ONE_NODE_AFTER_THE_OTHER}`);
}

/** On a node its shards are tables like others, which the engine otherwise lets nobody change. */
const NODE_SETTINGS = [
  ...LIMITED,
  ...PROMISED,
  ...PLANNED,
  'SET citus.enable_manual_changes_to_shards = on',
  'SET citus.override_table_visibility = off', // pg_class has them too
  'SET citus.enable_ddl_propagation = off', // functions of the connection are made on this node alone
].join('; ');

/** Prepares a new connection to a node, for statements on the tables of its shards. */
export async function beginNodeSession(client: ClientBase): Promise<void> {
  endWhenSilent(client, SILENT_MS);
  await client.query(NODE_SETTINGS);
}

/** Prepares a new connection of the pool. */
export async function beginSession(client: ClientBase): Promise<void> {
  endWhenSilent(client, SILENT_MS);
  await client.query(SETTINGS);
}
