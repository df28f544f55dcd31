import type { Socket } from 'node:net';
import type { Client, ClientBase } from 'pg';

/** Extra time to read answers that arrived during a pause of this process. */
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
      const silence = Object.assign(new Error('the database server no longer answers'), {
        code: 'ETIMEDOUT',
      });
      if (isStill && stream.timeout) stream.destroy(silence); // counts as a lost connection
    }, SECOND_LOOK_MS).unref();
  });
}

/** Runs `work` without the silence limit, for example while the connection waits for a lock. */
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

/** Closes a connection outside the pool, within a second even if the server does not answer. Never rejects. */
export async function endQuietly(client: Client): Promise<void> {
  const giveUp = setTimeout(() => streamOf(client).destroy(), GOODBYE_WITHIN_MS);
  await client.end().catch(() => undefined);
  clearTimeout(giveUp);
}

/** Reaches into the driver, which has no API for this. */
function streamOf(client: ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}

/** Server-side limits, in ms: a client-side limit would leave the statement running. */
const LIMITS = { statement: 10_000, lock: 3_000, idleInTransaction: 15_000, connectToNode: 3_000 };

/** In ms. By then the server has answered, at least with a statement timeout; a connection that is silent for longer is dead. */
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

/** Acknowledged writes survive a crash. A stricter setting of the server, such as waiting for a standby, is kept. */
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
 * With Citus, the values of a statement determine its node, so generic plans are impossible. Changes to all nodes must run
 * sequentially, because the same transaction may have changed another distributed table. An unresponsive node must be detected
 * before the statement times out.
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

/** With Citus, a transaction that has changed a distributed table in parallel cannot create functions or change other tables. */
const ONE_NODE_AFTER_THE_OTHER = `
  SELECT set_config('citus.multi_shard_modify_mode', 'sequential', false) FROM pg_extension WHERE extname = 'citus'`;

/** Prepares a new connection for migrations and for holding the start lock. */
export async function beginWithoutTimeouts(client: ClientBase): Promise<void> {
  await client.query(`${WITHOUT_LIMITS}; ${ONE_NODE_AFTER_THE_OTHER}`);
}

/** Lets a session change the shards on a node directly, as ordinary tables; the engine forbids this by default. */
const NODE_SETTINGS = [
  ...LIMITED,
  ...PROMISED,
  ...PLANNED,
  'SET citus.enable_manual_changes_to_shards = on',
  'SET citus.override_table_visibility = off', // makes the shards visible in pg_class
  'SET citus.enable_ddl_propagation = off', // temporary functions are created only on this node
].join('; ');

const prepared =
  (settings: string) =>
  async (client: ClientBase): Promise<void> => {
    endWhenSilent(client, SILENT_MS);
    await client.query(settings);
  };

export const beginSession = prepared(SETTINGS);

/** Prepares a new connection to a node, for statements on the tables of its shards. */
export const beginNodeSession = prepared(NODE_SETTINGS);
