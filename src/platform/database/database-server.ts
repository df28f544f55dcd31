import type { FactoryProvider } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import pg from 'pg';
import { Configuration, OperatorError } from '../config/index.js';
import { Log } from '../log.js';
import {
  type ConnectionTarget,
  lockDataDirectory,
  runningEmbeddedPostgres,
  startEmbeddedPostgres,
  urlOf,
} from './embedded/index.js';
import { endQuietly } from './session.js';
import { acceptBinaryResults } from './statement.js';

export const DATABASE_SERVER = Symbol('DATABASE_SERVER');

/**
 * When PostgreSQL shares the machine with the service, more concurrent statements only compete for processors, and each costs the
 * memory of a connection (ADR 24). One more than there are processors, because one waits for the disk.
 */
const statementsAtOnce = availableParallelism() + 1;

/** The PostgreSQL server in use. */
export interface Server {
  readonly target: string | ConnectionTarget;
  /** The useful number of concurrent statements; Infinity for an external server, where the operator sets the pool size. */
  readonly statementsAtOnce: number;
  stop(): Promise<void>;
}

export const provideServer: FactoryProvider<Server> = {
  provide: DATABASE_SERVER,
  inject: [Configuration, Log],
  useFactory: async ({ databaseUrl, dataDir }: Configuration, log: Log) => {
    if (databaseUrl)
      return { target: databaseUrl, statementsAtOnce: Infinity, stop: () => Promise.resolve() };

    const lock = await lockDataDirectory(dataDir);
    try {
      const embedded = await startEmbeddedPostgres({
        dataDir,
        log: ({ level, message, ...fields }) => log[level](fields, message),
        onFatal: (err) => {
          log.error({ err }, 'the embedded PostgreSQL cannot be kept running');
          process.exit(1);
        },
      });
      const stop = async (): Promise<void> => {
        await embedded.stop();
        await lock.release();
      };
      return { target: embedded.target, statementsAtOnce, stop };
    } catch (error) {
      await lock.release();
      throw error;
    }
  },
};

/** A DATABASE_URL for the embedded server that a running service keeps under DATA_DIR; undefined when none runs. */
export async function runningServerUrl(dataDir: string): Promise<string | undefined> {
  const target = await runningEmbeddedPostgres(dataDir);
  return target ? urlOf(target) : undefined;
}

/** Errors of connections that were never established, whatever the reason. */
const failedConnects = new WeakSet<object>();

/**
 * Whether no connection could be established. Not a list of codes: names that do not resolve, refused passwords, missing
 * databases, TLS errors and servers that are full or starting all mean that the database is unavailable.
 */
export function isFailedConnect(error: object): boolean {
  const { cause } = error as Error; // the pool wraps the error of a server that did not answer in time
  if (typeof cause === 'object' && cause !== null && failedConnects.has(cause)) return true;
  return failedConnects.has(error);
}

/** Prepares a new connection; a failure counts as a failure to connect. */
export async function connecting<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw marked(error);
  }
}

type OnConnect = (error: Error) => void;

/** A client of the driver that marks the errors of its connection phase for `isFailedConnect`, and reads binary results. */
export class DatabaseClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    acceptBinaryResults(this);
  }

  override connect(): Promise<this>;
  override connect(callback: OnConnect): void;
  override connect(callback?: OnConnect): Promise<this> | void {
    if (callback) {
      super.connect((error: Error | undefined) => callback(marked(error) as Error));
      return;
    }
    return connecting(async () => {
      await super.connect();
      return this;
    });
  }
}

function marked(error: unknown): unknown {
  for (let one = error; typeof one === 'object' && one !== null; one = (one as { cause?: unknown }).cause)
    failedConnects.add(one);
  return error;
}

/** A setting unknown to servers and poolers: only the session that sets it sees its value. */
const MARK = 'cloud_sync.session_of';
const ANSWER_WITHIN_MS = 5_000;

const write = `SELECT set_config('${MARK}', $1, false)`;
const read = `SELECT current_setting('${MARK}', true) AS mark`;

/**
 * Refuses a pooler that gives a session's connection to other sessions between transactions: settings, locks, LISTEN and prepared
 * statements would be lost, or come from another session. A second session checks repeatedly for the setting of the first one,
 * because a pooler may use its connections in turn.
 * @param session an open connection
 * @throws OperatorError
 */
export async function refuseTransactionPooler(session: pg.Client, config: pg.ClientConfig): Promise<void> {
  const mark = randomUUID();
  const other = new pg.Client({ ...config, query_timeout: ANSWER_WITHIN_MS });
  other.on('error', () => undefined); // the awaited call rejects too
  try {
    await session.query(write, [mark]);
    await other.connect();
    if ((await markSeenBy(other)) === mark) throw transactionPooler(); // in statement mode there is no BEGIN
    for (let look = 0; look < 2; look++) {
      await other.query('BEGIN');
      if ((await markSeenBy(other)) === mark || (await markSeenBy(session)) !== mark)
        throw transactionPooler();
      await other.query('COMMIT');
    }
  } catch (error) {
    if (error instanceof OperatorError) throw error; // any other failure says nothing about a pooler
  } finally {
    await endQuietly(other);
  }
}

async function markSeenBy(client: pg.Client): Promise<string | null | undefined> {
  const { rows } = await client.query<{ mark: string | null }>(read);
  return rows[0]?.mark;
}

const transactionPooler = (): OperatorError =>
  new OperatorError(
    'DATABASE_URL leads to a connection pooler in transaction or statement mode, which keeps no settings, locks and prepared ' +
      'statements of a session; set its pool mode to session, or point DATABASE_URL at PostgreSQL itself.',
  );

export type RowsOf = (sql: string) => Promise<readonly unknown[]>;

/** Whether an instance runs on the database, or was killed less than half a minute ago. Leases use the database's clock. */
export async function isServiceRunning(rowsOf: RowsOf): Promise<boolean> {
  return (
    (await rowsOf('SELECT 1 FROM instances WHERE alive_until > statement_timestamp() LIMIT 1')).length > 0
  );
}

/** @throws OperatorError when a service is running, according to `isServiceRunning` */
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
