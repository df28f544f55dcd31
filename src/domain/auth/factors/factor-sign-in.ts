import type { GenericEndpointContext } from 'better-auth';
import { expireCookie, setSessionCookie } from 'better-auth/cookies';
import { parseUserOutput } from 'better-auth/db';
import { randomBytes } from 'node:crypto';
import { identityRequests } from '../identity-request.js';
import { type FactorActions, factorFault } from './factor-actions.js';
import { FactorVault } from './factor-vault.js';
import { PENDING_SIGN_IN, PROVIDER_SIGN_IN, WAITS_MS } from './pending-sign-ins.js';
import type { EnteredCode } from './second-factors.js';

/** The library's name of the cookie that identifies a sign-in which waits for the second factor. */
const PENDING_COOKIE = 'two_factor';

/**
 * Completes a sign-in that waits for a code. The session passes through the same hooks as any other, which also check that the
 * password, if it began with one, has not been changed meanwhile.
 */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types -- the library infers its API from it
export async function signInWithCode(
  ctx: GenericEndpointContext,
  actions: FactorActions,
  entered: EnteredCode,
) {
  const { internalAdapter, secret, options } = ctx.context;
  const cookie = ctx.context.createAuthCookie(PENDING_COOKIE);
  const identifier = await ctx.getSignedCookie(cookie.name, secret);
  // The library signs only the values of cookies: one of another kind must not be taken for a pending sign-in.
  if (!identifier || !PENDING_SIGN_IN.test(identifier)) throw factorFault('INVALID_TWO_FACTOR_COOKIE');
  const found = await internalAdapter.findVerificationValue(identifier);
  const userId = found?.value;
  if (!userId || !actions.pending.isAlive(found)) throw factorFault('INVALID_TWO_FACTOR_COOKIE');

  await actions.use(userId, 'sign-in', entered, new FactorVault(ctx.context));
  const needsPassword = !identifier.startsWith(PROVIDER_SIGN_IN);
  const hash = needsPassword ? await actions.pending.passwordOf(userId) : undefined;
  const consumed = await internalAdapter.consumeVerificationValue(identifier);
  const user = await internalAdapter.findUserById(userId);
  if (consumed?.value !== userId || (needsPassword && hash === undefined) || !user)
    throw factorFault('INVALID_TWO_FACTOR_COOKIE');
  const request = identityRequests.getStore();
  // The row was there until now, so this is the password that the sign-in began with.
  if (hash !== undefined) request?.hashes.add(hash);
  if (request) request.hasFactor = true;
  const session = await internalAdapter.createSession(userId);
  // The link may have been ended since the sign-in was taken: a session of it must not stay.
  if (!needsPassword && !(await actions.pending.isLinked(userId))) {
    await internalAdapter.deleteSession(session.token);
    throw factorFault('INVALID_TWO_FACTOR_COOKIE');
  }
  await setSessionCookie(ctx, { session, user });
  expireCookie(ctx, cookie);
  return ctx.json({ token: session.token, user: parseUserOutput(options, user) });
}

/** Lets a user whom the provider has identified wait for the code: sets the cookie that `signInWithCode` reads. */
export async function waitForCode(ctx: GenericEndpointContext, userId: string): Promise<void> {
  const { internalAdapter, secret } = ctx.context;
  const cookie = ctx.context.createAuthCookie(PENDING_COOKIE, { maxAge: WAITS_MS / 1000 });
  const identifier = `${PROVIDER_SIGN_IN}${randomBytes(32).toString('base64url')}`;
  const expiresAt = new Date(); // the hook of the row sets it by the service's clock
  await internalAdapter.createVerificationValue({ value: userId, identifier, expiresAt });
  await ctx.setSignedCookie(cookie.name, identifier, secret, cookie.attributes);
}

/** Whether a cookie identifies a sign-in that waits for the second factor. With https the library adds a prefix. */
export function isPending(cookie: string): boolean {
  return new RegExp(`^\\s*(?:__Secure-)?better-auth\\.${PENDING_COOKIE}=`).test(cookie);
}
