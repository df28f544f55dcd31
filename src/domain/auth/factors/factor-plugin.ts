import type { BetterAuthPlugin, GenericEndpointContext } from 'better-auth';
import { createAuthEndpoint, getSessionFromCtx, sensitiveSessionMiddleware } from 'better-auth/api';
import { expireCookie, setSessionCookie } from 'better-auth/cookies';
import { parseUserOutput } from 'better-auth/db';
import { twoFactor } from 'better-auth/plugins/two-factor';
import { randomBytes } from 'node:crypto';
import type { TableNames } from '../identity-pool.js';
import { clientOf, identityRequests } from '../identity-request.js';
import { type FactorActions, factorFault, type SignedInUser } from './factor-actions.js';
import { PENDING_SIGN_IN, PROVIDER_SIGN_IN, WAITS_MS } from './pending-sign-ins.js';
import { type Actor, type EnteredCode, FactorVault, totpUri } from './second-factors.js';

/** The library's name of the cookie that identifies a sign-in which waits for the second factor. */
const PENDING_COOKIE = 'two_factor';

/**
 * Completes a sign-in that waits for a code. The session passes through the same hooks as any other; they also check that the
 * password, if the sign-in began with one, has not been changed meanwhile.
 */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers its API from it
export async function signInWithCode(
  ctx: GenericEndpointContext,
  actions: FactorActions,
  entered: EnteredCode,
) {
  const { internalAdapter, secret, options } = ctx.context;
  const cookie = ctx.context.createAuthCookie(PENDING_COOKIE);
  const identifier = await ctx.getSignedCookie(cookie.name, secret);
  // The library signs only the values of cookies: the value of another cookie must not pass as a pending sign-in.
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
  // The row still existed when the hash was read, so this is the password that the sign-in began with.
  if (hash !== undefined) request?.hashes.add(hash);
  if (request) request.hasFactor = true;
  const session = await internalAdapter.createSession(userId);
  // The link to the provider may have been removed since the sign-in was consumed: its session must not stay.
  if (!needsPassword && !(await actions.pending.isLinked(userId))) {
    await internalAdapter.deleteSession(session.token);
    throw factorFault('INVALID_TWO_FACTOR_COOKIE');
  }
  await setSessionCookie(ctx, { session, user });
  expireCookie(ctx, cookie);
  return ctx.json({ token: session.token, user: parseUserOutput(options, user) });
}

/** Makes the sign-in of a user whom the provider has identified wait for a code: sets the cookie that `signInWithCode` reads. */
export async function waitForCode(ctx: GenericEndpointContext, userId: string): Promise<void> {
  const { internalAdapter, secret } = ctx.context;
  const cookie = ctx.context.createAuthCookie(PENDING_COOKIE, { maxAge: WAITS_MS / 1000 });
  const identifier = `${PROVIDER_SIGN_IN}${randomBytes(32).toString('base64url')}`;
  const expiresAt = new Date(); // the create hook replaces it, by the service's clock
  await internalAdapter.createVerificationValue({ value: userId, identifier, expiresAt });
  await ctx.setSignedCookie(cookie.name, identifier, secret, cookie.attributes);
}

/** Whether a cookie identifies a sign-in that waits for the second factor. With https the library adds a prefix. */
export function isPending(cookie: string): boolean {
  return new RegExp(`^\\s*(?:__Secure-)?better-auth\\.${PENDING_COOKIE}=`).test(cookie);
}

/**
 * The identity library's second factor, which interrupts a sign-in after the password. The actions are the service's own, at the
 * library's paths: no code works twice, wrong codes are counted, and each change is one transaction.
 * @param issuer what authenticator apps show beside the account
 */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers its API from it
export function factorPlugin(actions: FactorActions, issuer: string, table: TableNames) {
  const { id, hooks, schema } = twoFactor({
    schema: { user: { fields: { twoFactorEnabled: 'two_factor_enabled' } }, twoFactor: table },
  });
  return {
    id,
    hooks,
    schema,
    endpoints: {
      enableTwoFactor: changeEndpoint('enable', actions, async ({ user }, vault) => {
        const secret = await actions.factors.begin(user.id, vault);
        if (secret === null) throw factorFault('TOTP_ALREADY_ENABLED');
        return { method: 'totp', totpURI: totpUri(secret, issuer, user.email) };
      }),
      generateBackupCodes: changeEndpoint(
        'generate-backup-codes',
        actions,
        async ({ user }, vault, client) => {
          const backupCodes = await actions.factors.renewCodes({ ...client, userId: user.id }, vault);
          if (backupCodes === null) throw factorFault('TWO_FACTOR_NOT_ENABLED');
          return { status: true, backupCodes };
        },
      ),
      disableTwoFactor: changeEndpoint('disable', actions, async ({ user }, _, client) => {
        if (!(await actions.factors.remove({ ...client, userId: user.id })))
          throw factorFault('TWO_FACTOR_NOT_ENABLED');
        return { status: true };
      }),
      verifyTOTP: verifyEndpoint('verify-totp', 'totp', actions),
      verifyBackupCode: verifyEndpoint('verify-backup-code', 'backup', actions),
    },
  } satisfies BetterAuthPlugin;
}

type Change<Result> = (
  owner: SignedInUser,
  vault: FactorVault,
  client: Omit<Actor, 'userId'>,
) => Promise<Result>;

/** An action that changes a factor: it needs the password, or a recent sign-in. */
function changeEndpoint<Name extends string, Result extends Record<string, unknown>>(
  name: Name,
  actions: FactorActions,
  change: Change<Result>,
) {
  return createAuthEndpoint(
    `/two-factor/${name}`,
    { method: 'POST', use: [sensitiveSessionMiddleware] },
    async (ctx) => {
      const client = clientOf(ctx.headers);
      await actions.prove(ctx.context.session, textIn(ctx.body, 'password'), client.ip);
      return ctx.json(await change(ctx.context.session, new FactorVault(ctx.context), client));
    },
  );
}

/** With a session, finishes a set-up or confirms the session; without one, completes the pending sign-in. */
function verifyEndpoint<Name extends string>(name: Name, kind: EnteredCode['kind'], actions: FactorActions) {
  return createAuthEndpoint(`/two-factor/${name}`, { method: 'POST' }, async (ctx) => {
    const code = textIn(ctx.body, 'code');
    if (code === undefined) throw factorFault('VALIDATION_ERROR');
    const owner = await getSessionFromCtx(ctx, { disableCookieCache: true });
    if (!owner) return signInWithCode(ctx, actions, { kind, code });

    const vault = new FactorVault(ctx.context);
    const { user, session } = owner;
    const answer = { token: session.token, user: parseUserOutput(ctx.context.options, user) };
    if (kind === 'totp' && (await actions.factors.isPending(user.id))) {
      const actor = { ...clientOf(ctx.headers), userId: user.id };
      const backupCodes = await actions.attempt(user.id, 'session', () =>
        actions.factors.finish(actor, code, vault),
      );
      await actions.confirm(owner);
      return ctx.json({ ...answer, user: { ...answer.user, twoFactorEnabled: true }, backupCodes });
    }
    await actions.use(user.id, 'session', { kind, code }, vault);
    await actions.confirm(owner);
    return ctx.json(answer);
  });
}

/** @throws APIError unless the field is text or absent */
function textIn(body: unknown, name: string): string | undefined {
  const value = (body as Readonly<Record<string, unknown>> | undefined)?.[name];
  if (value === undefined || typeof value === 'string') return value;
  throw factorFault('VALIDATION_ERROR');
}
