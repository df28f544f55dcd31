import { isUUID } from 'class-validator';
import type { BetterAuthPlugin } from 'better-auth';
import { APIError, createAuthMiddleware, getSessionFromCtx } from 'better-auth/api';

interface ListedSession {
  readonly id: string;
  readonly token: string;
}

/** The token of a session of the user, by its id. */
export type TokenOfSession = (userId: string, sessionId: string) => Promise<string | undefined>;

/**
 * Lists the user's other sessions with their ids in place of their tokens, and revokes them by these. With the tokens, somebody
 * with a stolen session would have the others as well, and one of them may have a recent sign-in.
 */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types -- the library infers its API from it
export function sessionListPlugin(tokenOf: TokenOfSession) {
  return {
    id: 'session-list',
    hooks: {
      before: [
        {
          matcher: ({ path }) => path === '/revoke-session',
          handler: createAuthMiddleware(async (ctx) => {
            const { token: id } = (ctx.body as { token?: unknown } | undefined) ?? {};
            const owner = await getSessionFromCtx(ctx, { disableCookieCache: true });
            if (!owner || !isUUID(id)) return undefined;
            const token = await tokenOf(owner.user.id, (id as string).toLowerCase());
            return token === undefined ? undefined : { context: { body: { token } } };
          }),
        },
      ],
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
