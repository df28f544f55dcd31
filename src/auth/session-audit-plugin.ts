import type { BetterAuthPlugin } from 'better-auth';
import { APIError, createAuthMiddleware } from 'better-auth/api';
import type { AuditLog } from '../audit/index.js';
import type { IdentityPool } from './identity-pool.js';
import { CLIENT_ADDRESS_HEADER, identityRequests } from './identity-request.js';

const ENDS_OTHERS = new Set(['/revoke-session', '/revoke-other-sessions']);

/** Records that a user has ended sessions over the API, if there were any; the library commits each deletion on its own. */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types -- the library infers its API from it
export function sessionAuditPlugin(audit: AuditLog, identityPool: IdentityPool) {
  return {
    id: 'session-audit',
    hooks: {
      after: [
        {
          matcher: ({ path }) => ENDS_OTHERS.has(path ?? ''),
          handler: createAuthMiddleware(async ({ context, headers }) => {
            const { session, returned } = context;
            const sessions = identityRequests.getStore()?.ended ?? 0;
            if (!session || returned instanceof APIError || sessions === 0) return;
            await identityPool.noting(() =>
              audit.record({
                action: 'sessions.ended',
                userId: session.user.id,
                actor: 'user',
                ip: headers?.get(CLIENT_ADDRESS_HEADER) ?? '',
                userAgent: headers?.get('user-agent') ?? '',
                details: { sessions },
              }),
            );
          }),
        },
      ],
    },
  } satisfies BetterAuthPlugin;
}
