import type { BetterAuthPlugin } from 'better-auth';
import { createAuthEndpoint } from 'better-auth/api';
import { setSessionCookie } from 'better-auth/cookies';
import { Unauthorized } from '../../platform/http/index.js';
import { waitForCode } from './factors/index.js';

/** Names the session to `sessionCookie`. */
export const SESSION_TOKEN_HEADER = 'x-session-token';

/** Names the user to `waitForCode`. */
export const USER_ID_HEADER = 'x-user-id';

/** The cookies of what the service has begun itself. The endpoints have no path, so no request reaches them. */
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

      /** Of a sign-in that waits for the second factor. */
      waitForCode: createAuthEndpoint.serverOnly({ method: 'POST' }, async (ctx) => {
        await waitForCode(ctx, ctx.headers?.get(USER_ID_HEADER) ?? '');
        return ctx.json({});
      }),
    },
  } satisfies BetterAuthPlugin;
}
