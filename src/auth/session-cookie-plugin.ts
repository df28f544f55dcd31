import type { BetterAuthPlugin } from 'better-auth';
import { createAuthEndpoint } from 'better-auth/api';
import { setSessionCookie } from 'better-auth/cookies';
import { Unauthorized } from '../platform/http/index.js';

/** Names the session to `sessionCookie`. */
export const SESSION_TOKEN_HEADER = 'x-session-token';

/** The cookie of a session that the service has begun itself. The endpoint has no path, so no request reaches it. */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types -- the library infers its API from it
export function sessionCookiePlugin() {
  return {
    id: 'service-session-cookie',
    endpoints: {
      sessionCookie: createAuthEndpoint.serverOnly({ method: 'POST' }, async (ctx) => {
        const token = ctx.headers?.get(SESSION_TOKEN_HEADER) ?? '';
        const session = await ctx.context.internalAdapter.findSession(token);
        if (!session) throw new Unauthorized(); // it has ended in this moment
        await setSessionCookie(ctx, session);
        return ctx.json({});
      }),
    },
  } satisfies BetterAuthPlugin;
}
