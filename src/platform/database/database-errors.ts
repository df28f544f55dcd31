import { QueryFailedError } from 'typeorm';
import { isFailedConnect } from './database-client.js';

/** COMMIT was sent but no answer arrived: the transaction may have been committed. Never retried, never undone. */
export class AmbiguousCommit extends Error {
  constructor(cause: unknown) {
    super('the connection was lost during COMMIT', { cause });
  }
}

const DISK_FULL = '53100';

const TRANSIENT = new Set([
  'CS001', // a shard that moves
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
 * Messages of an engine that distributes tables about a lost connection to a node, or about its own shutdown. They have the code of an
 * internal error. Some come from PostgreSQL's client library.
 */
const NODE_LOST =
  /^(?:failure on connection marked as essential|connection not open|postmaster was shut down|server closed the connection|no connection to the server|lost synchronization with server|could not (?:receive data from|send data to) server|SSL (?:connection has been closed|error|SYSCALL error))/;

/**
 * At COMMIT it says so in the words of its driver, which are translated, also with the code of an internal error; only the context
 * tells that a node was asked.
 */
const ASKED_NODE = /^while executing command on \S+:\d+/m;

/** Whether an internal error of the engine is about a node that it has asked. */
export function isOfAskedNode(error: unknown): boolean {
  const { code, where } = driverError(error) as { code?: unknown; where?: unknown };
  return code === 'XX000' && typeof where === 'string' && ASKED_NODE.test(where);
}

/** The driver's own errors have no code. */
const LOST_MESSAGE =
  /^(?:Connection terminated|timeout exceeded when trying to connect|timeout expired$|Client has encountered)/;

/**
 * The SQLSTATE of a failed statement: the server answered, so the statement had no effect. Danger: only a PANIC looks the same
 * but leaves the outcome open, because crash recovery may restore what was being committed.
 */
export function sqlState(error: unknown): string | undefined {
  const code = rawCode(error);
  // Every SQLSTATE has a digit; EPIPE and similar codes have none.
  return code !== undefined && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Whether a row that the statement references does not exist. */
export function isForeignKeyViolation(error: unknown): boolean {
  return sqlState(error) === '23503';
}

/**
 * The names that PostgreSQL gives to foreign keys to users; a test checks that the tables follow it. An engine that distributes
 * tables adds the number of the shard.
 */
const REFERENCE_TO_USER = /_user_id_fkey\d*(?:_\d+)?$/;

/** Whether the user who was to own a row no longer exists. */
export function isOfGoneUser(error: unknown): boolean {
  const { constraint } = driverError(error) as { constraint?: string };
  return isForeignKeyViolation(error) && REFERENCE_TO_USER.test(constraint ?? '');
}

/**
 * Whether the workspace that was to own a row no longer exists. Only for tables whose other foreign keys cannot break, except
 * the one to the user.
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

/** Whether the disk of PostgreSQL is full, which lasts until an operator makes room. */
export function isDiskFull(error: unknown): boolean {
  return sqlState(error) === DISK_FULL;
}

/** Whether the same request may succeed later: the fault is not the request's. */
export function isTransient(error: unknown): boolean {
  const state = sqlState(error);
  return (state !== undefined && TRANSIENT.has(state)) || isUnanswered(error);
}

function rawCode(error: unknown): string | undefined {
  const { code } = driverError(error) as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : undefined;
}

function driverError(error: unknown): object {
  if (error instanceof QueryFailedError) return error.driverError as object;
  return typeof error === 'object' && error !== null ? error : {};
}
