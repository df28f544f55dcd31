import pg from 'pg';
import { OperatorError } from '../../../config/index.js';
import { DATABASE, USER } from './cluster.js';
import { errorCode, errorMessage } from './data-directory.js';
import { PORT } from './socket-directory.js';

/**
 * What the driver would otherwise take from `PG*` variables, which are meant for other servers: `PGSSLMODE`, `PGOPTIONS`,
 * `PGSSLNEGOTIATION`, `PGREPLICATION`, `PGCLIENT_ENCODING`. It takes an empty value for none, so each is one that does nothing.
 */
const UNAFFECTED = {
  ssl: false,
  sslnegotiation: 'postgres',
  options: '-c timezone=UTC', // as the server has it
  replication: 'off',
  client_encoding: 'UTF8',
} as const;

/** How to reach the embedded server, whatever the environment says. */
export interface ConnectionTarget extends Readonly<typeof UNAFFECTED> {
  /** The directory of a unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** The embedded server's target. */
export function embeddedTarget(socketDirectory: string, password: string): ConnectionTarget {
  return { host: socketDirectory, port: PORT, user: USER, password, database: DATABASE, ...UNAFFECTED };
}

/** The same as a URL. */
export function urlOf({ user, password, host, port, database }: ConnectionTarget): string {
  const parameters = Object.entries(UNAFFECTED).filter(([name]) => name !== 'ssl'); // here it is sslmode
  const query = new URLSearchParams({ host, sslmode: 'disable', ...Object.fromEntries(parameters) });
  return `postgres://${user}:${encodeURIComponent(password)}@localhost:${port}/${database}?${query.toString().replaceAll('+', '%20')}`;
}

/**
 * ready: it takes connections; starting: it lives but takes none now; absent: nobody listens;
 * empty: it takes connections, and the database is not there.
 */
export type Answer = 'ready' | 'starting' | 'absent' | 'empty';

const ANSWERS: ReadonlyMap<string, Answer> = new Map([
  ['57P01', 'starting'], // ended while it was answering
  ['57P03', 'starting'], // starting up, in recovery or shutting down
  ['53300', 'ready'], // every connection is taken, by those who are back already
  ['3D000', 'empty'],
  ['ENOENT', 'absent'],
  ['ECONNREFUSED', 'absent'],
  ['ECONNRESET', 'absent'],
  ['EPIPE', 'absent'],
]);

/** A backend that accepts and does not answer within this time is not ready. */
const ANSWER_WITHIN_MS = 5_000;

/**
 * Asks the server by a real connection.
 * @throws OperatorError when it refuses the password; other errors of the connection as they are
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

/** Makes the service's database on a server that has none; does nothing when another was faster. */
export async function createDatabase(target: ConnectionTarget): Promise<void> {
  try {
    await query({ ...target, database: 'postgres' }, `CREATE DATABASE ${DATABASE}`);
  } catch (error) {
    if (errorCode(error) !== '42P04') throw error;
  }
}

/** Runs one statement on a connection of its own. The environment's PG* variables have no say. */
export async function query<Row extends pg.QueryResultRow>(
  target: ConnectionTarget,
  sql: string,
): Promise<Row[]> {
  const client = new pg.Client({ ...target, connectionTimeoutMillis: ANSWER_WITHIN_MS });
  client.on('error', () => undefined); // also rejects the query, which is where it is dealt with
  try {
    await client.connect();
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}
