import type { BetterAuthPlugin } from 'better-auth';
import {
  APIError,
  createAuthEndpoint,
  createAuthMiddleware,
  sensitiveSessionMiddleware,
} from 'better-auth/api';
import { deleteSessionCookie } from 'better-auth/cookies';
import { clientOf } from './identity-request.js';
import type { UserSessions } from './user-sessions.js';

interface ListedSession {
  readonly id: string;
  readonly token: string;
}

/**
 * Lists the user's other sessions with their ids in place of their tokens, and ends them by these. With the tokens, somebody
 * with a stolen session would have the others as well, and one of them may have a recent sign-in. The library would end sessions
 * one by one, without the lock that keeps new ones from beginning meanwhile.
 */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types -- the library infers its API from it
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
            const listed = (returned as readonly ListedSession[]).map((one) =>
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
