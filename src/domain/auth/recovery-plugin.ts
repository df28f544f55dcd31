import type { BetterAuthPlugin } from 'better-auth';
import { APIError, createAuthEndpoint } from 'better-auth/api';
import { isMailable } from './email-address.js';
import { clientOf } from './identity-request.js';
import { PASSWORD_FAULTS } from './password-policy.js';
import type { EmailVerification } from './email-verification.js';
import type { PasswordRecovery, RecoveryFault } from './password-recovery.js';

const FAULTS: Readonly<Record<RecoveryFault, string>> = {
  ...PASSWORD_FAULTS,
  INVALID_TOKEN: 'The link is used, expired, or replaced by a newer one.',
};

/** The same for every address. */
const REQUESTED = {
  status: true,
  message: 'If there is an account with this address, a mail with a link is on its way.',
};

interface RecoveryParts {
  readonly recovery: PasswordRecovery;
  readonly verification: EmailVerification;
}

type Fields = Readonly<Record<string, unknown>> | undefined;

const invalid = (message: string): APIError =>
  new APIError('BAD_REQUEST', { code: 'VALIDATION_ERROR', message });

function emailIn(body: Fields): string {
  const { email } = body ?? {};
  if (typeof email !== 'string' || !isMailable(email)) throw invalid('email must be an email address');
  return email;
}

/** Forgotten passwords and confirmation of addresses over the API: the service's own links in place of the identity handler's. */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types -- the library infers its API from it
export function recoveryPlugin({ recovery, verification }: RecoveryParts) {
  return {
    id: 'service-recovery',
    endpoints: {
      requestPasswordReset: createAuthEndpoint('/request-password-reset', { method: 'POST' }, async (ctx) => {
        await recovery.request(emailIn(ctx.body as Fields), clientOf(ctx.headers).ip);
        return ctx.json(REQUESTED);
      }),
      sendVerificationEmail: createAuthEndpoint(
        '/send-verification-email',
        { method: 'POST' },
        async (ctx) => {
          await verification.request(emailIn(ctx.body as Fields), clientOf(ctx.headers).ip);
          return ctx.json({ status: true });
        },
      ),
      resetPassword: createAuthEndpoint('/reset-password', { method: 'POST' }, async (ctx) => {
        const { token, newPassword, revokeAccessTokens = false } = (ctx.body as Fields) ?? {};
        const areTexts = typeof token === 'string' && typeof newPassword === 'string';
        if (!areTexts || typeof revokeAccessTokens !== 'boolean')
          throw invalid('token and newPassword must be text, revokeAccessTokens true or false');
        const fault = await recovery.complete({
          purpose: 'reset-password',
          token,
          newPassword,
          revokesAccessTokens: revokeAccessTokens,
          ...clientOf(ctx.headers),
        });
        if (fault) throw new APIError('BAD_REQUEST', { code: fault, message: FAULTS[fault] });
        return ctx.json({ status: true });
      }),
    },
  } satisfies BetterAuthPlugin;
}
