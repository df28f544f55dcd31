import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { BetterAuthPlugin } from 'better-auth';
import {
  APIError,
  createAuthEndpoint,
  createAuthMiddleware,
  sensitiveSessionMiddleware,
} from 'better-auth/api';
import { deleteSessionCookie, setSessionCookie } from 'better-auth/cookies';
import { MoreThan, Not, Repository } from 'typeorm';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/index.js';
import { NotFound, Unauthorized } from '../../platform/http/index.js';
import { AccessEndings } from './access-endings.js';
import { lockUser } from './account-fields.js';
import { type Acting, AuditLog } from './audit/index.js';
import { AuthSession } from './auth.entities.js';
import { sessionStatements } from './auth.queries.js';
import { waitForCode } from './factors/index.js';
import { clientOf } from './identity-request.js';

export interface ListedSession {
  readonly id: string;
  readonly ip: string;
  readonly userAgent: string;
  readonly createdAt: Date;
  /** When its expiry was last extended, at most once a day. */
  readonly updatedAt: Date;
}

/** Sessions listed at most; scripts that sign in on each run leave many behind. */
export const MOST_LISTED = 100;

/** All sessions of a user, in browsers and apps. */
@Injectable()
export class UserSessions {
  constructor(
    @InjectRepository(AuthSession) private readonly sessions: Repository<AuthSession>,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly audit: AuditLog,
    private readonly endings: AccessEndings,
  ) {}

  /**
   * The live sessions: the current one first, then the newest, at most `MOST_LISTED`. The library's list returns a hundred in no
   * order, usually the oldest: an intruder's session would be missing.
   */
  async list(userId: string, currentId: string): Promise<ListedSession[]> {
    const live = { userId, expiresAt: MoreThan(this.clock.now()) };
    const current = await this.sessions.findBy({ ...live, id: currentId });
    const others = await this.sessions.find({
      where: { ...live, id: Not(currentId) },
      order: { createdAt: 'DESC', id: 'DESC' },
      take: MOST_LISTED - current.length,
    });
    return [...current, ...others].map(({ id, ipAddress, userAgent, createdAt, updatedAt }) => ({
      ...{ id, createdAt, updatedAt },
      ...{ ip: ipAddress ?? '', userAgent: userAgent ?? '' },
    }));
  }

  /** @throws NotFound unless the id is a session of this user */
  async end(userId: string, id: string, by: Acting): Promise<void> {
    if (!(await this.endListed(userId, id, by))) throw new NotFound('session not found');
  }

  /**
   * @param idOrToken the id that the user sees, or the token that only the session's own client has
   * @returns whether the user has this session
   */
  async endListed(userId: string, idOrToken: string, by: Acting): Promise<boolean> {
    if (idOrToken.includes('\0')) return false; // PostgreSQL would refuse it as text
    return this.database.transaction(async (tx) => {
      await lockUser(tx, userId); // lock order: minting a token also locks the user, then the session
      const ended = await tx.run(sessionStatements.end, [userId, idOrToken]);
      if (ended.length === 0) return false;
      await this.endings.endUnfinished(tx, userId);
      await this.audit.record({ action: 'sessions.ended', userId, ...by, details: { sessions: 1 } }, tx);
      return true;
    });
  }

  /** Ends all sessions but one, or all. Returns how many. */
  endAllBut(userId: string, keptId: string | null, by: Acting): Promise<number> {
    return this.database.transaction(async (tx) => {
      await lockUser(tx, userId); // no session begins until the commit
      const { sessions } = await this.endings.end(tx, userId, 'signed-out-everywhere', {
        ownSession: keptId,
      });
      if (sessions > 0)
        await this.audit.record({ action: 'sessions.ended', userId, ...by, details: { sessions } }, tx);
      return sessions;
    });
  }
}

/** Sessions per user. */
export const MAX_SESSIONS = 200;

/** Unused one-time tokens per session. */
const MAX_ONE_TIME_TOKENS = 100;

/** How many rows the library reads at a time: it lists and ends sessions in one query, and ignores any rows beyond the limit. */
export const LIBRARY_READS_AT_MOST = 5 * MAX_SESSIONS;

/**
 * Limits the sessions and one-time tokens that signing in leaves behind. The identity library commits each row on its own
 * connection, and both methods run after that commit: of several concurrent calls the last sees all rows, so the limits hold on
 * any number of instances.
 */
@Injectable()
export class SessionCap {
  constructor(
    @InjectRepository(AuthSession) private readonly sessions: Repository<AuthSession>,
    private readonly database: Database,
  ) {}

  /**
   * Ends the user's sessions beyond `MAX_SESSIONS`, with their one-time tokens. The new session is kept, unless this fails: then
   * it is ended, and its token is not returned.
   */
  async begun({ id, userId }: { id: string; userId: string }): Promise<void> {
    try {
      await this.database.transaction(async (tx) => {
        // Serialized: two concurrent deletions could wait for each other's rows.
        if (await lockUser(tx, userId))
          await tx.run(sessionStatements.endSurplus, [userId, id, MAX_SESSIONS]);
      });
    } catch (error) {
      await this.sessions.delete({ id });
      throw error;
    }
  }

  /** Deletes the oldest one-time tokens of the session beyond 100. */
  async minted({ value }: { value: string }): Promise<void> {
    await this.database.run(sessionStatements.forgetSurplusTokens, [value, MAX_ONE_TIME_TOKENS]);
  }
}

interface SessionOfLibrary {
  readonly id: string;
  readonly token: string;
}

/**
 * Lists the user's other sessions with their ids in place of their tokens, and ends them by id. The tokens would give a stolen
 * session access to the others, one of which may have a recent sign-in. The library would end sessions one by one, without the
 * lock that keeps new ones from beginning meanwhile.
 */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers its API from it
export function sessionListPlugin(sessions: UserSessions) {
  return {
    id: 'session-list',
    endpoints: { revokeSession: endOne(sessions), revokeOtherSessions: endOthers(sessions) },
    hooks: {
      after: [
        {
          matcher: ({ path }) => path === '/list-sessions',
          handler: createAuthMiddleware(async (ctx) => {
            const { returned, session } = ctx.context;
            if (returned instanceof APIError || !session) return undefined;
            const listed = (returned as readonly SessionOfLibrary[]).map((one) =>
              one.id === session.session.id ? one : { ...one, token: one.id },
            );
            return ctx.json(listed);
          }),
        },
      ],
    },
  } satisfies BetterAuthPlugin;
}

function endOne(sessions: UserSessions) {
  return createAuthEndpoint(
    '/revoke-session',
    { method: 'POST', use: [sensitiveSessionMiddleware] },
    async (ctx) => {
      const { session, user } = ctx.context.session;
      const { token } = (ctx.body as { token?: unknown } | undefined) ?? {};
      if (typeof token !== 'string')
        throw new APIError('BAD_REQUEST', { code: 'VALIDATION_ERROR', message: 'token must be a string' });
      await sessions.endListed(user.id, token, { actor: 'user', ...clientOf(ctx.headers) });
      if (token === session.token || token === session.id) deleteSessionCookie(ctx);
      return ctx.json({ status: true });
    },
  );
}

function endOthers(sessions: UserSessions) {
  return createAuthEndpoint(
    '/revoke-other-sessions',
    { method: 'POST', use: [sensitiveSessionMiddleware] },
    async (ctx) => {
      const { session, user } = ctx.context.session;
      await sessions.endAllBut(user.id, session.id, { actor: 'user', ...clientOf(ctx.headers) });
      return ctx.json({ status: true });
    },
  );
}

/** Passes the session's token to `sessionCookie`. */
export const SESSION_TOKEN_HEADER = 'x-session-token';

/** Passes the user's id to `waitForCode`. */
export const USER_ID_HEADER = 'x-user-id';

/**
 * Makes the cookies of sessions and pending sign-ins that the service begins itself. No request reaches these endpoints: no path.
 */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers its API from it
export function sessionCookiePlugin() {
  return {
    id: 'service-session-cookie',
    endpoints: {
      sessionCookie: createAuthEndpoint.serverOnly({ method: 'POST' }, async (ctx) => {
        const token = ctx.headers?.get(SESSION_TOKEN_HEADER) ?? '';
        const session = await ctx.context.internalAdapter.findSession(token);
        if (!session) throw new Unauthorized(); // it has just ended
        await setSessionCookie(ctx, session);
        return ctx.json({});
      }),

      /** For a sign-in that waits for the second factor. */
      waitForCode: createAuthEndpoint.serverOnly({ method: 'POST' }, async (ctx) => {
        await waitForCode(ctx, ctx.headers?.get(USER_ID_HEADER) ?? '');
        return ctx.json({});
      }),
    },
  } satisfies BetterAuthPlugin;
}
