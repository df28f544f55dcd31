import type { FactoryProvider } from '@nestjs/common';
import { Configuration, keptSecret } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, statement, underStartLock } from '../platform/database/index.js';
import { Queues } from '../platform/limits/index.js';
import { Log } from '../platform/log/index.js';
import { IdentityPool } from './identity-pool.js';
import { inIdentityRequest } from './identity-request.js';
import { createIdentity, type Identity } from './identity.js';
import { SessionCap } from './session-cap.js';
import { IdentityPasswords } from './sign-in-passwords.js';
import { AccountSuspended } from './suspensions.js';

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
function guardSessions(adapter: Adapter, { database, clock, identityPool }: Parts): void {
  const findSession = adapter.findSession.bind(adapter);
  const createSession = adapter.createSession.bind(adapter);
  const refuseSuspended = (userId: string): Promise<void> =>
    identityPool.noting(async () => {
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
const mayBeSuspended = ({ url }: Request): boolean => new URL(url).pathname.endsWith('/sign-out');

export const IDENTITY = Symbol('IDENTITY');

/**
 * The identity handler on a migrated database, its signing key made. The key is made here and under the start
 * lock: left to the first requests, instances that start together would each make one.
 */
export const provideIdentity: FactoryProvider<Identity> = {
  provide: IDENTITY,
  inject: [Configuration, Database, Clock, IdentityPasswords, Log, Queues],
  useFactory: async (
    configuration: Configuration,
    database: Database,
    clock: Clock,
    passwords: IdentityPasswords,
    log: Log,
    queues: Queues,
  ) => {
    const secret = configuration.authSecret ?? (await keptSecret(configuration.dataDir, 'auth-secret'));
    const identityPool = new IdentityPool(database.pool, queues);
    const sessionCap = new SessionCap(database);
    const identity = createIdentity(
      configuration,
      secret,
      { identityPool, passwords, sessionCap },
      log,
    );
    guardSessions((await identity.$context).internalAdapter, { database, clock, identityPool });
    await underStartLock(database.dataSource, () => identity.api.getJwks());
    return { ...identity, handler: (request) => inIdentityRequest(request, identity.handler, isTolerated) };
  },
};

const isTolerated = (fault: Error, request: Request): boolean =>
  fault instanceof AccountSuspended && mayBeSuspended(request);
