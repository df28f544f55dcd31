import type { Clock } from '../platform/clock/index.js';
import { type Database, statement } from '../platform/database/index.js';
import { AccountSuspended } from './account-suspended.js';
import type { Identity } from './identity.js';
import type { IdentityPool } from './identity-pool.js';

const suspendedUser = statement(
  'session_guard.suspended_user',
  'SELECT id FROM users WHERE id = $1 AND suspended_at IS NOT NULL',
);

type Adapter = Awaited<Identity['$context']>['internalAdapter'];

interface Parts {
  readonly database: Database;
  readonly clock: Clock;
  readonly identityPool: IdentityPool;
}

/**
 * Puts two rules at the one place where the identity handler finds and begins sessions. No session of a suspended account
 * is found or begun; the request is answered with AccountSuspended, after the password was checked, so that nobody learns
 * of a suspension without it. And a session that has run out is not found, so that the handler does not delete it: under
 * a clock that is wrong for a moment that would sign everybody out for good. The nightly job removes it.
 */
export function guardSessions(adapter: Adapter, { database, clock, identityPool: pool }: Parts): void {
  const findSession = adapter.findSession.bind(adapter);
  const createSession = adapter.createSession.bind(adapter);
  const refuseSuspended = (userId: string): Promise<void> =>
    pool.noting(async () => {
      const rows = await database.run(suspendedUser, [userId]);
      if (rows.length > 0) throw new AccountSuspended();
    });

  adapter.findSession = async (token) => {
    const found = await findSession(token);
    if (!found || found.session.expiresAt <= clock.now()) return null;
    try {
      await refuseSuspended(found.user.id);
    } catch (error) {
      if (error instanceof AccountSuspended) return null; // noted; thrown, the handler would log it as its own fault
      throw error;
    }
    return found;
  };
  adapter.createSession = async (userId, ...more) => {
    await refuseSuspended(userId);
    return createSession(userId, ...more);
  };
}

/** A suspended user may still sign a browser out, to sign in to another account. */
export const mayBeSuspended = ({ url }: Request): boolean => new URL(url).pathname.endsWith('/sign-out');
