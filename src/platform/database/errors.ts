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
  '53300', // too many connections
  '55P03', // lock timeout
  '57014', // statement timeout
  '57P01', // terminated by an administrator
  '57P02', // crash shutdown
  '57P03', // cannot connect now
  '58P01', // the socket directory is gone
]);
const CONNECTION_LOST = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOENT', 'ETIMEDOUT', 'EAI_AGAIN']);

/** The SQLSTATE of a failed statement: the server answered, so the statement did not happen. */
export function sqlState(error: unknown): string | undefined {
  const code = rawCode(error);
  return code !== undefined && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Whether the connection went away, so that the fate of the last statement is unknown. */
export function isConnectionLost(error: unknown): boolean {
  const code = rawCode(error);
  if (code !== undefined) return CONNECTION_LOST.has(code) || code.startsWith('08') || code.startsWith('57P');
  return (
    error instanceof Error &&
    /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered)/.test(
      error.message,
    )
  );
}

/** Whether the same request may succeed a moment later. */
export function isTransient(error: unknown): boolean {
  if (error instanceof AmbiguousCommit) return true;
  const state = sqlState(error);
  return (state !== undefined && TRANSIENT.has(state)) || isConnectionLost(error);
}

export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  const source = driverError(error) as { constraint?: string };
  return sqlState(error) === '23505' && (constraint === undefined || source.constraint === constraint);
}

function rawCode(error: unknown): string | undefined {
  const { code } = driverError(error) as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : undefined;
}

function driverError(error: unknown): object {
  if (error instanceof QueryFailedError) return error.driverError as object;
  return typeof error === 'object' && error !== null ? error : {};
}
