import type { BetterAuthPlugin } from 'better-auth';
import {
  APIError,
  createAuthEndpoint,
  createAuthMiddleware,
  sensitiveSessionMiddleware,
} from 'better-auth/api';
import { setSessionCookie } from 'better-auth/cookies';
import { randomBytes } from 'node:crypto';
import { fit } from './account-fields.js';
import { clientOf, identityRequests } from './identity-request.js';
import type { IdentityPasswords } from './sign-in-passwords.js';
import type { ChangeFault, PasswordChange } from './password-change.js';
import { faultOfPassword, PASSWORD_FAULTS } from './password-policy.js';

const CHANGE_FAULTS: Readonly<Record<ChangeFault, string>> = {
  ...PASSWORD_FAULTS,
  CREDENTIAL_ACCOUNT_NOT_FOUND: 'Credential account not found',
  INVALID_PASSWORD: 'Invalid password',
};

const CHANGE_BODY =
  'currentPassword and newPassword must be strings, revokeOtherSessions and revokeAccessTokens booleans';

/**
 * The time from the hash of a sign-up to its answer, where the address must be confirmed: longer than storing an account takes, so
 * the time does not tell whether the address has one.
 */
const SIGN_UP_MS = 150;

type Fields = Readonly<Record<string, unknown>> | undefined;

/**
 * The service's own password handling in place of the identity handler's: policy, limits, hashing outside transactions, and a
 * password change that ends all other sessions whatever the request says.
 */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types -- the library infers its API from it
export function passwordPlugin({ hasher, passwordChange, wrongPasswords }: IdentityPasswords) {
  return {
    id: 'service-passwords',
    endpoints: { changePassword: changeEndpoint(passwordChange) },
    hooks: {
      before: [
        {
          matcher: ({ path }) => path === '/sign-in/email',
          handler: createAuthMiddleware(async ({ body }) => {
            const { email } = (body as Fields) ?? {};
            const request = identityRequests.getStore();
            if (!request || typeof email !== 'string') return; // the library rejects an email that is not a string
            request.takeBack = await wrongPasswords.countSignIn(email, request.ip);
          }),
        },
        {
          matcher: ({ path }) => path === '/sign-up/email',
          handler: createAuthMiddleware(async ({ body, context }) => {
            const { password } = (body as Fields) ?? {};
            const request = identityRequests.getStore();
            const isOff = context.options.emailAndPassword?.disableSignUp;
            if (!request || isOff || typeof password !== 'string' || !password) return;
            const mustVerify = context.options.emailAndPassword?.requireEmailVerification === true;
            // Before the address is looked up: the answer must not tell whether it has an account.
            if (mustVerify)
              await fit({ name: (body as Fields)?.['name'], image: (body as Fields)?.['image'] });
            const fault = await faultOfPassword(password);
            if (fault) throw new APIError('BAD_REQUEST', { code: fault, message: PASSWORD_FAULTS[fault] });
            const hash = await hasher.hash(password, request.ip);
            request.hashes.add(hash);
            request.prepared = { password, hash };
            if (mustVerify) request.answerAt = performance.now() + SIGN_UP_MS;
          }),
        },
      ],
    },
  } satisfies BetterAuthPlugin;
}

function changeEndpoint(passwordChange: PasswordChange) {
  return createAuthEndpoint(
    '/change-password',
    { method: 'POST', use: [sensitiveSessionMiddleware] },
    async (ctx) => {
      const { session, user } = ctx.context.session;
      const { currentPassword, newPassword, ...wishes } = (ctx.body as Fields) ?? {};
      const { revokeOtherSessions = false, revokeAccessTokens = false } = wishes;
      const areTexts = typeof currentPassword === 'string' && typeof newPassword === 'string';
      if (!areTexts || typeof revokeOtherSessions !== 'boolean' || typeof revokeAccessTokens !== 'boolean')
        throw new APIError('BAD_REQUEST', { code: 'VALIDATION_ERROR', message: CHANGE_BODY });
      const token = revokeOtherSessions ? randomBytes(24).toString('base64url') : null;
      const fault = await passwordChange.run({
        user,
        sessionId: session.id,
        currentPassword,
        newPassword,
        ...clientOf(ctx.headers),
        newSessionToken: token,
        revokesAccessTokens: revokeAccessTokens,
      });
      if (fault) throw new APIError('BAD_REQUEST', { code: fault, message: CHANGE_FAULTS[fault] });
      if (token) await setSessionCookie(ctx, { session: { ...session, token }, user });
      return ctx.json({ token, user });
    },
  );
}
