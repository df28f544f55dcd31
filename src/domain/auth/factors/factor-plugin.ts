import type { BetterAuthPlugin } from 'better-auth';
import { createAuthEndpoint, getSessionFromCtx, sensitiveSessionMiddleware } from 'better-auth/api';
import { parseUserOutput } from 'better-auth/db';
import { twoFactor } from 'better-auth/plugins/two-factor';
import { clientOf } from '../identity-request.js';
import { type FactorActions, factorFault } from './factor-actions.js';
import { signInWithCode } from './factor-sign-in.js';
import { FactorVault } from './factor-vault.js';
import type { Actor, EnteredCode } from './second-factors.js';
import { totpUri } from './totp.js';

const TABLE = {
  modelName: 'auth_two_factors',
  fields: {
    userId: 'user_id',
    backupCodes: 'backup_codes',
    failedVerificationCount: 'failed_verification_count',
    lockedUntil: 'locked_until',
  },
};

/**
 * The identity library's second factor: it stops a sign-in after the password. The actions are the service's own, at the
 * library's addresses: no code works twice, wrong codes are counted, and each change is one transaction.
 * @param issuer what authenticator apps show beside the account
 */
// eslint-disable-next-line @typescript-eslint/explicit-module-boundary-types -- the library infers its API from it
export function factorPlugin(actions: FactorActions, issuer: string) {
  const { id, hooks, schema } = twoFactor({
    schema: { user: { fields: { twoFactorEnabled: 'two_factor_enabled' } }, twoFactor: TABLE },
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

interface Owner {
  readonly user: { readonly id: string; readonly email: string };
  readonly session: { readonly id: string };
}

type Change<Result> = (owner: Owner, vault: FactorVault, client: Omit<Actor, 'userId'>) => Promise<Result>;

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

/** With a session, finishes a set-up or confirms the session; without one, completes the sign-in that waits. */
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
