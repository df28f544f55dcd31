import type { FactoryProvider } from '@nestjs/common';
import { Configuration, keptSecret } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, underStartLock } from '../platform/database/index.js';
import { Queues } from '../platform/limits/index.js';
import { Log } from '../platform/log/index.js';
import { createIdentity, type Identity } from './identity.js';
import { inIdentityRequest } from './identity-request.js';
import { IdentityPasswords } from './identity-passwords.js';
import { SessionCap } from './session-cap.js';
import { AccountSuspended } from './account-suspended.js';
import { guardSessions, mayBeSuspended } from './session-guard.js';
import { IdentityPool } from './identity-pool.js';

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
      { identityPool: identityPool, passwords, sessionCap },
      log,
    );
    guardSessions((await identity.$context).internalAdapter, { database, clock, identityPool: identityPool });
    await underStartLock(database.dataSource, () => identity.api.getJwks());
    return { ...identity, handler: (request) => inIdentityRequest(request, identity.handler, isTolerated) };
  },
};

const isTolerated = (fault: Error, request: Request): boolean =>
  fault instanceof AccountSuspended && mayBeSuspended(request);
