import { APIError, isAPIError } from 'better-auth/api';
import type { Clock } from '../platform/clock/index.js';
import { type Database, statement } from '../platform/database/index.js';
import { AccountSuspended } from './account-suspended.js';
import type { Identity } from './identity.js';

const CODE = 'ACCOUNT_SUSPENDED';

const suspendedUser = statement(
  'session_guard.suspended_user',
  'SELECT id FROM users WHERE id = $1 AND suspended_at IS NOT NULL',
);

type Adapter = Awaited<Identity['$context']>['internalAdapter'];

/** What the guard needs of the service. `noting` keeps a fault of the database in sight, which the handler would hide. */
export interface SessionGuardParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly noting: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * Puts two rules at the one place where the identity handler finds and begins sessions. No session of a suspended account
 * is found or begun: APIError FORBIDDEN, after the password was checked, so that nobody learns of a suspension without it.
 * And a session that has run out is not found, so that the handler does not delete it: under a clock that is wrong for
 * a moment that would sign everybody out for good. The nightly job removes it.
 */
export function guardSessions(adapter: Adapter, { database, clock, noting }: SessionGuardParts): void {
  const { findSession, createSession } = adapter;
  const refuseSuspended = async (userId: string): Promise<void> => {
    const rows = await noting(() => database.run(suspendedUser, [userId]));
    if (rows.length > 0) throw new APIError('FORBIDDEN', { code: CODE, message: 'the account is suspended' });
  };

  adapter.findSession = async (token) => {
    const found = await findSession(token);
    if (!found || found.session.expiresAt <= clock.now()) return null;
    await refuseSuspended(found.user.id);
    return found;
  };
  adapter.createSession = async (userId, ...more) => {
    await refuseSuspended(userId);
    return createSession(userId, ...more);
  };
}

/** An answer of the handler, unless the guard has made it. @throws AccountSuspended */
export async function refusingSuspended(answer: Response): Promise<Response> {
  if (answer.status !== 403) return answer;
  const body = (await answer
    .clone()
    .json()
    .catch(() => null)) as { code?: unknown } | null;
  if (body?.code === CODE) throw new AccountSuspended();
  return answer;
}

/** Work on the handler's adapter itself. @throws AccountSuspended for what the guard throws */
export async function whileNotSuspended<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isAPIError(error) && error.body?.code === CODE ? new AccountSuspended() : error;
  }
}
