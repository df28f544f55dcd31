import pg from 'pg';
import { OperatorError } from '../../config/index.js';
import { DATABASE, USER } from './cluster.js';
import { errorCode, errorMessage } from './data-directory.js';
import { PORT } from './socket-directory.js';

/**
 * Overrides what the driver would read from `PG*` variables meant for other servers: `PGSSLMODE`, `PGOPTIONS`,
 * `PGSSLNEGOTIATION`, `PGREPLICATION`, `PGCLIENT_ENCODING`. The driver treats an empty value as unset, so each value here is
 * one that has no effect.
 */
const UNAFFECTED = {
  ssl: false,
  sslnegotiation: 'postgres',
  options: '-c timezone=UTC', // the server's own setting
  replication: 'off',
  client_encoding: 'UTF8',
} as const;

/** How to reach the embedded server, regardless of the environment. */
export interface ConnectionTarget extends Readonly<typeof UNAFFECTED> {
  /** The directory of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

export function embeddedTarget(socketDirectory: string, password: string): ConnectionTarget {
  return { host: socketDirectory, port: PORT, user: USER, password, database: DATABASE, ...UNAFFECTED };
}

export function urlOf({ user, password, host, port, database }: ConnectionTarget): string {
  const parameters = Object.entries(UNAFFECTED).filter(([name]) => name !== 'ssl'); // called sslmode in a URL
  const query = new URLSearchParams({ host, sslmode: 'disable', ...Object.fromEntries(parameters) });
  return `postgres://${user}:${encodeURIComponent(password)}@localhost:${port}/${database}?${query.toString().replaceAll('+', '%20')}`;
}

/**
 * ready: accepts connections; starting: alive but does not accept connections now; absent: nothing listens; empty: accepts
 * connections, but the database does not exist.
 */
export type Answer = 'ready' | 'starting' | 'absent' | 'empty';

const ANSWERS: ReadonlyMap<string, Answer> = new Map([
  ['57P01', 'starting'], // terminated while it was answering
  ['57P03', 'starting'], // starting up, in recovery or shutting down
  ['53300', 'ready'], // all connections are in use by clients that have reconnected
  ['3D000', 'empty'],
  ['ENOENT', 'absent'],
  ['ECONNREFUSED', 'absent'],
  ['ECONNRESET', 'absent'],
  ['EPIPE', 'absent'],
]);

/** A backend that accepts a connection and does not answer within this time is not ready. */
const ANSWER_WITHIN_MS = 5_000;

/**
 * Checks the server with a real connection.
 * @throws OperatorError when the server refuses the password; other connection errors unchanged
 */
export async function ask(target: ConnectionTarget): Promise<Answer> {
  try {
    await query(target, 'SELECT 1');
    return 'ready';
  } catch (error) {
    const code = errorCode(error) ?? '';
    if (code === '28P01') {
      throw new OperatorError(
        'The embedded database refuses its password; restore secrets/postgres-password from the same backup as the database.',
        { cause: error },
      );
    }
    const answer = ANSWERS.get(code);
    if (answer !== undefined) return answer;
    if (code === '' && /terminated|timeout/i.test(errorMessage(error))) return 'starting';
    throw error;
  }
}

/** Creates the service's database; does nothing when another process was faster. */
export async function createDatabase(target: ConnectionTarget): Promise<void> {
  try {
    await query({ ...target, database: 'postgres' }, `CREATE DATABASE ${DATABASE}`);
  } catch (error) {
    if (errorCode(error) !== '42P04') throw error;
  }
}

/** Runs one statement on its own connection. Ignores the environment's PG* variables. */
export async function query<Row extends pg.QueryResultRow>(
  target: ConnectionTarget,
  sql: string,
): Promise<Row[]> {
  const client = new pg.Client({ ...target, connectionTimeoutMillis: ANSWER_WITHIN_MS });
  client.on('error', () => undefined); // the query rejects too, and handles it
  try {
    await client.connect();
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}
