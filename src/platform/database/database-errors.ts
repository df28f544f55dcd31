import { QueryFailedError } from 'typeorm';

/** COMMIT was sent and its answer never came: the transaction may have happened. Never retried, never undone. */
export class AmbiguousCommit extends Error {
  constructor(cause: unknown) {
    super('the connection was lost during COMMIT', { cause });
  }
}

const TRANSIENT = new Set([
  '40001', // serialization failure
  '40P01', // deadlock
  '25006', // read only, as after a failover to a standby
  '25P03', // idle in a transaction for too long
  '53100', // disk full
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

/** The driver's own errors have no code. */
const LOST_MESSAGE =
  /^(?:Connection terminated|timeout exceeded when trying to connect|timeout expired$|Client has encountered)/;

/**
 * The SQLSTATE of a failed statement: the server answered, so the statement did not happen. Danger: only a PANIC looks the
 * same and leaves it open, as the recovery after it may bring back what was being committed.
 */
export function sqlState(error: unknown): string | undefined {
  const code = rawCode(error);
  // Every SQLSTATE has a digit; EPIPE and its like have none.
  return code !== undefined && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Whether a row that the statement refers to is gone. */
export function isForeignKeyViolation(error: unknown): boolean {
  return sqlState(error) === '23503';
}

/** What PostgreSQL calls a reference to users; a test holds the tables to it. */
const REFERENCE_TO_USER = /_user_id_fkey\d*$/;

/** Whether the user to whom a row was to belong is gone. */
export function isOfGoneUser(error: unknown): boolean {
  const { constraint } = driverError(error) as { constraint?: string };
  return isForeignKeyViolation(error) && REFERENCE_TO_USER.test(constraint ?? '');
}

/** Whether the workspace to which a row was to belong is gone: in tables that refer to nothing else that can go, but the user. */
export function isOfGoneWorkspace(error: unknown): boolean {
  return isForeignKeyViolation(error) && !isOfGoneUser(error);
}

/** Whether the connection went away, so that the fate of the last statement is unknown. */
export function isConnectionLost(error: unknown): boolean {
  const { code, syscall } = driverError(error) as NodeJS.ErrnoException;
  if (code === 'ENOENT') return syscall === 'connect'; // the server's socket; any other missing file is no such thing
  if (typeof code === 'string') return CONNECTION_LOST.has(code) || /^(?:08|57P)/.test(code);
  return error instanceof Error && LOST_MESSAGE.test(error.message);
}

/** Whether the database gave no answer: who asks it again at once most likely waits once more. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof AmbiguousCommit || isConnectionLost(error);
}

/** Whether the same request may succeed a moment later. */
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
