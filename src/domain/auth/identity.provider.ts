import { type FactoryProvider, Inject, Injectable } from '@nestjs/common';
import { getRepositoryToken } from '@nestjs/typeorm';
import { IsNull, Not, type Repository } from 'typeorm';
import { AccountSuspended } from '../../access/index.js';
import type { Clock } from '../../platform/clock.js';
import { Configuration, keptSecret } from '../../platform/config/index.js';
import { Database, underStartLock } from '../../platform/database/index.js';
import { Forbidden } from '../../platform/http/index.js';
import { Queues } from '../../platform/limits/index.js';
import { Log } from '../../platform/log.js';
import { AuthSession, UserEntity } from './auth.entities.js';
import { IdentityPool } from './identity-pool.js';
import {
  CLIENT_ADDRESS_HEADER,
  type Client,
  identityRequests,
  inIdentityRequest,
  MAX_USER_AGENT,
} from './identity-request.js';
import { createIdentity, type Identity, IdentityServices } from './identity.js';

type Adapter = Awaited<Identity['$context']>['internalAdapter'];

interface Parts {
  readonly users: Repository<UserEntity>;
  readonly clock: Clock;
  readonly identityPool: IdentityPool;
  readonly needsVerifiedEmail: boolean;
}

/** The address of the account must be confirmed before a session begins. */
class EmailUnverified extends Forbidden {
  constructor() {
    super('the email address is not confirmed', { code: 'EMAIL_NOT_VERIFIED' });
  }
}

/**
 * Adds four rules where the identity handler finds and creates sessions.
 *
 * - A session of a suspended account is neither found nor created. The request is answered with AccountSuspended, but only after
 *   the password check, so that a suspension is not disclosed without the password.
 * - No session is created for an account whose address must be confirmed first.
 * - No session is created by an action other than a sign-in, such as the one that adds a passkey.
 * - An expired session is not found, so that the handler does not delete it: a clock that is briefly wrong would otherwise sign
 *   all users out for good. The nightly job removes expired sessions.
 */
function guardSessions(adapter: Adapter, { users, clock, identityPool, needsVerifiedEmail }: Parts): void {
  const findSession = adapter.findSession.bind(adapter);
  const createSession = adapter.createSession.bind(adapter);
  const refuseSuspended = (userId: string): Promise<void> =>
    identityPool.noting(async () => {
      if (await users.existsBy({ id: userId, suspendedAt: Not(IsNull()) })) throw new AccountSuspended();
    });

  adapter.findSession = async (token) => {
    const found = await findSession(token);
    if (!found || found.session.expiresAt <= clock.now()) return null;
    try {
      await refuseSuspended(found.user.id);
    } catch (error) {
      if (error instanceof AccountSuspended) return null; // already recorded; the handler would log it as its own fault
      throw error;
    }
    return found;
  };
  const refuseUnverified = (userId: string): Promise<void> =>
    identityPool.noting(async () => {
      if (await users.existsBy({ id: userId, emailVerified: false })) throw new EmailUnverified();
    });
  adapter.createSession = async (userId, ...more) => {
    if (identityRequests.getStore()?.mayBeginSession === false)
      throw new Error('this action begins no session');
    if (needsVerifiedEmail) await refuseUnverified(userId);
    await refuseSuspended(userId);
    return createSession(userId, ...more);
  };
}

/** A suspended user may still sign a browser out, to sign in to another account. */
const mayBeSuspended = ({ url }: Request): boolean => new URL(url).pathname.endsWith('/sign-out');

export const IDENTITY = Symbol('IDENTITY');

/**
 * The identity handler, on a migrated database and with its signing key. The key is created here under the start lock: otherwise
 * instances that start together would each create one on their first request.
 */
export const provideIdentity: FactoryProvider<Identity> = {
  provide: IDENTITY,
  inject: [
    Configuration,
    Database,
    IdentityServices,
    getRepositoryToken(UserEntity),
    getRepositoryToken(AuthSession),
    Log,
    Queues,
  ],
  useFactory: async (
    configuration: Configuration,
    database: Database,
    services: IdentityServices,
    users: Repository<UserEntity>,
    authSessions: Repository<AuthSession>,
    log: Log,
    queues: Queues,
  ) => {
    const secret = configuration.authSecret ?? (await keptSecret(configuration.dataDir, 'auth-secret'));
    const identityPool = new IdentityPool(database.pool, queues);
    const confirmedAt = (sessionId: string): Promise<Date | null> =>
      identityPool.noting(async () => {
        const session = await authSessions.findOneBy({ id: sessionId });
        return session?.confirmedAt ?? null;
      });
    const stores = { source: database.dataSource, identityPool, confirmedAt };
    const identity = createIdentity(configuration, secret, services, stores, log);
    guardSessions((await identity.$context).internalAdapter, {
      ...{ users, clock: services.clock, identityPool },
      needsVerifiedEmail: configuration.requiresVerifiedEmail,
    });
    await underStartLock(database.dataSource, () => identity.api.getJwks());
    return {
      ...identity,
      handler: (request) => inIdentityRequest(request, identity.handler, isExpectedFault),
    };
  },
};

const isExpectedFault = (fault: Error, request: Request): boolean =>
  fault instanceof AccountSuspended && mayBeSuspended(request);

export interface IdentityAnswer<Body> {
  readonly body: Body;
  /** The values of the Set-Cookie headers. */
  readonly cookies: readonly string[];
}

/** Calls the identity handler in-process as if over HTTP, so that its hooks run and its faults surface as they do for the API. */
@Injectable()
export class IdentityClient {
  constructor(
    @Inject(IDENTITY) private readonly identity: Identity,
    private readonly configuration: Configuration,
  ) {}

  /**
   * Sends a GET, or a POST when there is a body, from the service's own origin. A POST may be refused; the body says so.
   * @param client on whose behalf the call is made
   * @param session the browser's Cookie header, or the token of a session
   * @throws when the handler cannot answer
   */
  async ask<Body>(
    action: string,
    { ip, userAgent }: Pick<Client, 'ip'> & Partial<Client>,
    { cookie, token }: { readonly cookie?: string | undefined; readonly token?: string },
    body?: object,
  ): Promise<IdentityAnswer<Body>> {
    const { publicUrl } = this.configuration;
    const request = new Request(`${publicUrl}/api/auth/${action}`, {
      headers: {
        ...(userAgent === undefined ? {} : { 'user-agent': userAgent.slice(0, MAX_USER_AGENT) }),
        ...(cookie ? { cookie } : {}),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        [CLIENT_ADDRESS_HEADER]: ip,
        origin: new URL(publicUrl).origin,
        'content-type': 'application/json',
      },
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    });
    const answer = await this.identity.handler(request);
    const isBroken = body === undefined ? !answer.ok : answer.status >= 500;
    if (isBroken)
      throw new Error(`the identity handler answered ${answer.status} to ${action.replace(/\?.*/, '')}`);
    return { body: (await answer.json()) as Body, cookies: answer.headers.getSetCookie() };
  }
}
