import { QueryFailedError } from 'typeorm';
import { OperatorError } from '../config/index.js';
import { isFailedConnect } from './database-server.js';

/** COMMIT was sent but no answer arrived: the transaction may have been committed. Never retried, never undone. */
export class AmbiguousCommit extends Error {
  constructor(cause: unknown) {
    super('the connection was lost during COMMIT', { cause });
  }
}

const DISK_FULL = '53100';

const TRANSIENT = new Set([
  'CS001', // a shard is being moved
  '40001', // serialization failure
  '40P01', // deadlock
  '25006', // read only, as after a failover to a standby
  '25P03', // idle in a transaction for too long
  '25P04', // transaction timeout
  DISK_FULL,
  '53200', // out of memory
  '53300', // too many connections
  '55P03', // lock timeout
  '57014', // statement timeout
  '57P01', // terminated by an administrator
  '57P02', // crash shutdown
  '57P03', // cannot connect now
  '57P05', // idle session ended
  '58030', // input or output error
]);
const CONNECTION_LOST = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTCONN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ENETRESET',
  'EPROTO',
]);

/**
 * Messages of an engine that distributes tables, about a lost connection to a node or its own shutdown. They have the SQLSTATE of
 * an internal error; some come from PostgreSQL's client library.
 */
const NODE_LOST =
  /^(?:failure on connection marked as essential|connection not open|postmaster was shut down|server closed the connection|no connection to the server|lost synchronization with server|could not (?:receive data from|send data to) server|SSL (?:connection has been closed|error|SYSCALL error))/;

/**
 * At COMMIT, the engine reports a lost node in the words of its driver, which are translated, and with the SQLSTATE of an
 * internal error. Only the context shows that a node was involved.
 */
const ASKED_NODE = /^while executing command on \S+:\d+/m;

/** Whether an internal error of the engine comes from a statement it sent to a node. */
export function isOfAskedNode(error: unknown): boolean {
  const { code, where } = driverError(error) as { code?: unknown; where?: unknown };
  return code === 'XX000' && typeof where === 'string' && ASKED_NODE.test(where);
}

/** Matches the driver's own errors, which have no code. */
const LOST_MESSAGE =
  /^(?:Connection terminated|timeout exceeded when trying to connect|timeout expired$|Client has encountered)/;

/**
 * The SQLSTATE of a failed statement: the server answered, so the statement had no effect. Danger: only a PANIC looks the same
 * but leaves the outcome open, because crash recovery may restore what was being committed.
 */
export function sqlState(error: unknown): string | undefined {
  const { code } = driverError(error) as { code?: unknown };
  // Every SQLSTATE has a digit; EPIPE and similar codes have none.
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Whether a row referenced by the statement does not exist. */
export function isForeignKeyViolation(error: unknown): boolean {
  return sqlState(error) === '23503';
}

/**
 * The names that PostgreSQL gives to foreign keys to users; a test checks that all tables follow them. An engine that distributes
 * tables appends the number of the shard.
 */
const REFERENCE_TO_USER = /_user_id_fkey\d*(?:_\d+)?$/;

/** Whether the user who should own the row no longer exists. */
export function isOfGoneUser(error: unknown): boolean {
  const { constraint } = driverError(error) as { constraint?: string };
  return isForeignKeyViolation(error) && REFERENCE_TO_USER.test(constraint ?? '');
}

/**
 * Whether the workspace that should own the row no longer exists. Only for tables whose other foreign keys cannot be violated,
 * except the one to the user.
 */
export function isOfGoneWorkspace(error: unknown): boolean {
  return isForeignKeyViolation(error) && !isOfGoneUser(error);
}

/** Whether the connection was lost, so the outcome of the last statement is unknown. */
export function isConnectionLost(error: unknown): boolean {
  const { code, syscall } = driverError(error) as NodeJS.ErrnoException;
  if (code === 'XX000') return error instanceof Error && NODE_LOST.test(error.message);
  if (code === 'ENOENT') return syscall === 'connect'; // only the server's socket, no other missing file
  if (typeof code === 'string') return CONNECTION_LOST.has(code) || /^(?:08|57P)/.test(code);
  return error instanceof Error && LOST_MESSAGE.test(error.message);
}

/** Whether the database did not answer: an immediate retry would most likely wait again. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof AmbiguousCommit || isConnectionLost(error) || isFailedConnect(driverError(error));
}

/** Whether PostgreSQL's disk is full, which lasts until an operator frees space. */
export function isDiskFull(error: unknown): boolean {
  return sqlState(error) === DISK_FULL;
}

/** Whether the same request may succeed later, because the request is not at fault. */
export function isTransient(error: unknown): boolean {
  const state = sqlState(error);
  return (state !== undefined && TRANSIENT.has(state)) || isUnanswered(error);
}

function driverError(error: unknown): object {
  if (error instanceof QueryFailedError) return error.driverError as object;
  return typeof error === 'object' && error !== null ? error : {};
}

const READ_ONLY =
  'PostgreSQL is read-only here (a standby, or default_transaction_read_only); point DATABASE_URL at the primary.';

/** By SQLSTATE. The server's own message names users, databases and addresses, but no passwords. */
const SENTENCES: Readonly<Record<string, (words: string) => string>> = {
  '28P01': () => REFUSED,
  '28000': (words) =>
    `PostgreSQL refused the connection (${words}); check DATABASE_URL and the server's pg_hba.conf.`,
  '53300': () => 'PostgreSQL has no free connection; raise its max_connections or lower DATABASE_POOL_SIZE.',
  '3D000': () => 'The database in DATABASE_URL does not exist; create it first.',
  '42501': (words) =>
    `The user of DATABASE_URL lacks privileges that the service needs (${words}); make it the owner of the database, or of a schema in its search_path.`,
  '3F000': (words) =>
    `The search_path of DATABASE_URL's user has no existing schema (${words}); create the schema first.`,
  '25006': () => READ_ONLY,
};

const TLS = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_UNTRUSTED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);
const NO_TLS = 'The server does not support SSL connections';

/** The driver's message when the server asks for a password and none is set. */
const NO_PASSWORD = /^SASL: .* client password must be/;

const REFUSED = 'PostgreSQL refused the user or password; check DATABASE_URL.';

export const readOnlyServerError = (): OperatorError => new OperatorError(READ_ONLY);

/** Explains a failed connection if the operator can fix it; otherwise returns the error unchanged. */
export function connectFault(error: unknown): unknown {
  const sentence = sentenceFor(error as NodeJS.ErrnoException);
  return sentence === undefined ? error : new OperatorError(sentence, { cause: error });
}

function sentenceFor(error: NodeJS.ErrnoException): string | undefined {
  const { code = '', syscall } = error;
  const sentence = SENTENCES[sqlState(error) ?? ''];
  if (sentence) return sentence(error.message);
  if (NO_PASSWORD.test(error.message)) return REFUSED;
  if (isConnectionLost(error) || code === 'ENOTFOUND' || syscall === 'connect')
    return 'PostgreSQL does not answer; check that it runs and that DATABASE_URL points at it.';
  if (TLS.has(code) || /^ERR_(?:OSSL|SSL)_/.test(code) || error.message === NO_TLS)
    return `A TLS connection to PostgreSQL cannot be established (${error.message}); check sslmode and sslrootcert in DATABASE_URL.`;
  if (syscall === 'open' || code === 'EISDIR')
    return `A file that DATABASE_URL names cannot be read (${error.message}).`;
  return undefined;
}
