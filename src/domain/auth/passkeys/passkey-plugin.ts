import { passkey } from '@better-auth/passkey';
import type { BetterAuthPlugin, GenericEndpointContext } from 'better-auth';
import { APIError, createAuthEndpoint, createAuthMiddleware, getSessionFromCtx } from 'better-auth/api';
import { asName, BadRequest, NAME_RULE, Unauthorized } from '../../../platform/http/index.js';
import { parseSessionOutput, parseUserOutput } from 'better-auth/db';
import { isUUID } from 'class-validator';
import type { FactorActions } from '../factors/index.js';
import type { TableNames } from '../identity-pool.js';
import { clientOf, identityRequests } from '../identity-request.js';
import { MAX_PASSKEYS, type Passkeys } from './passkeys.js';

const FAULTS = {
  UNAUTHORIZED: ['UNAUTHORIZED', 'Unauthorized'],
  NOT_VERIFIED: ['UNAUTHORIZED', 'The authenticator did not verify the user'],
  TOO_MANY_PASSKEYS: ['BAD_REQUEST', `An account may have ${MAX_PASSKEYS} passkeys`],
  INVALID_NAME: ['BAD_REQUEST', `name ${NAME_RULE}`],
  NO_SESSION_OF_ITS_OWN: ['BAD_REQUEST', 'createSession is not supported: sign in with the new passkey'],
  LAST_WAY_TO_SIGN_IN: ['BAD_REQUEST', 'This passkey is the last way to sign in'],
  VALIDATION_ERROR: ['BAD_REQUEST', 'id must be text'],
} as const;

const faultOf = (code: keyof typeof FAULTS): APIError => {
  const [status, message] = FAULTS[code];
  return new APIError(status, { code, message });
};

/**
 * The identity library's passkeys, with user verification required: possession and a fingerprint or PIN are two factors, so no
 * code is required. Adding and removing a passkey needs a recent sign-in and is recorded in the audit log.
 */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers its API from it
export function passkeyPlugin(
  actions: FactorActions,
  passkeys: Passkeys,
  publicUrl: string,
  table: TableNames,
) {
  const { hostname, origin } = new URL(publicUrl);
  const fields = { ...table.fields, credentialID: 'credential_id' };
  const library = passkey({
    rpID: hostname,
    rpName: hostname,
    origin,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    schema: { passkey: { ...table, fields } },
    registration: {
      requireSession: false, // the library's own rule is a session of at most a day; ours, below, is stricter
      afterVerification: async ({ ctx, verification, user }) => {
        if (!verification.registrationInfo?.userVerified) throw faultOf('NOT_VERIFIED');
        const { name } = (ctx.body as { name?: string } | undefined) ?? {};
        if (name !== undefined && asName(name) === undefined) throw faultOf('INVALID_NAME');
        if (!(await passkeys.hasRoom(user.id))) throw faultOf('TOO_MANY_PASSKEYS');
        await passkeys.recordNew({ ...clientOf(ctx.headers), userId: user.id });
      },
    },
    authentication: {
      afterVerification: ({ verification, clientData }) => {
        if (!verification.authenticationInfo.userVerified) throw faultOf('NOT_VERIFIED');
        const request = identityRequests.getStore();
        if (request) Object.assign(request, { passkey: clientData.id, hasFactor: true });
        return Promise.resolve();
      },
    },
  });
  const isRecent = recentSession(actions);
  const { generatePasskeyRegistrationOptions: begin, verifyPasskeyRegistration: finish } = library.endpoints;
  Object.assign(begin.options, { use: [...begin.options.use, isRecent] });
  Object.assign(finish.options, { use: [...finish.options.use, isRecent, addsNoSession] });
  return {
    ...library,
    endpoints: { ...library.endpoints, deletePasskey: deleteEndpoint(passkeys, isRecent) },
    hooks: { before: [checkedRename], after: answerHooks(actions, passkeys) },
  } satisfies BetterAuthPlugin;
}

/** No passkey has this id. */
const NOBODYS_ID = '00000000-0000-0000-0000-000000000000';

/**
 * Checks renames: the library accepts a name of any length, with control characters, and queries the database for an id that is
 * no UUID, which fails.
 */
const checkedRename = {
  matcher: ({ path }: { path?: string | undefined }) => path === '/passkey/update-passkey',
  handler: createAuthMiddleware((ctx) => {
    const { id, name } = (ctx.body as { id?: unknown; name?: unknown } | undefined) ?? {};
    if (typeof name === 'string' && asName(name) === undefined) throw faultOf('INVALID_NAME');
    const isSound = typeof id !== 'string' || isUUID(id);
    return Promise.resolve(isSound ? undefined : { context: { body: { name, id: NOBODYS_ID } } });
  }),
};

type Hooks = NonNullable<NonNullable<BetterAuthPlugin['hooks']>['after']>;

/** Hooks that correct the library's answers and complete a registration. */
function answerHooks(actions: FactorActions, passkeys: Passkeys): Hooks {
  return [
    {
      matcher: ({ path }) => path === '/passkey/generate-authenticate-options',
      handler: createAuthMiddleware(async (ctx) => {
        const { returned } = ctx.context;
        if (returned instanceof Error) return undefined;
        return ctx.json({ ...(returned as object), userVerification: 'required' });
      }),
    },
    {
      matcher: ({ path }) => path === '/passkey/verify-authentication',
      handler: createAuthMiddleware(async (ctx) => {
        const { returned } = ctx.context;
        if (returned instanceof Error) return undefined;
        const { session, user } = returned as SignedIn;
        const { options } = ctx.context;
        // The library returns the rows unfiltered.
        return ctx.json({
          session: parseSessionOutput(options, session),
          user: parseUserOutput(options, user),
        });
      }),
    },
    {
      matcher: ({ path }) => path === '/passkey/verify-registration',
      handler: createAuthMiddleware(async (ctx) => {
        if (isInvalid(ctx.context.returned)) throw new BadRequest('the passkey is not valid');
        const added = ctx.context.returned as { userId?: string; credentialID?: string } | undefined;
        const sessionId = identityRequests.getStore()?.ownSession;
        if (added?.userId === undefined || added.credentialID === undefined || !sessionId) return;
        const { userId: id, credentialID } = added;
        if (!(await passkeys.keepNew(id, sessionId, credentialID))) throw new Unauthorized();
        await actions.confirm({ user: { id }, session: { id: sessionId } });
      }),
    },
  ];
}

type SignedIn = Awaited<ReturnType<ReturnType<typeof passkey>['endpoints']['verifyPasskeyAuthentication']>>;

/**
 * The library answers 500 to every invalid registration, and keeps this status when a hook throws one of its errors: hooks throw
 * the service's errors. Faults of PostgreSQL are recorded elsewhere.
 */
const isInvalid = (returned: unknown): boolean =>
  returned instanceof APIError && returned.body?.code === 'FAILED_TO_VERIFY_REGISTRATION';

type RecentSession = ReturnType<typeof recentSession>;

/** Requires a recent sign-in for actions that change passkeys, and notes their session on the request. */
function recentSession(actions: FactorActions) {
  return createAuthMiddleware(async (ctx) => {
    const owner = await ownerOf(ctx);
    await actions.prove(owner, undefined, clientOf(ctx.headers).ip);
    const request = identityRequests.getStore();
    if (request) request.ownSession = owner.session.id;
  });
}

/** The library would begin a session with a passkey that has proven nothing yet, and so bypass the second factor. */
const addsNoSession = createAuthMiddleware((ctx) => {
  const { createSession } = (ctx.body as { createSession?: unknown } | undefined) ?? {};
  if (createSession !== undefined && createSession !== false) throw faultOf('NO_SESSION_OF_ITS_OWN');
  return Promise.resolve();
});

/** Replaces the library's action, which would remove the last way to sign in. */
function deleteEndpoint(passkeys: Passkeys, isRecent: RecentSession) {
  const options = { method: 'POST' as const, use: [isRecent] };
  return createAuthEndpoint('/passkey/delete-passkey', options, async (ctx) => {
    const { id } = (ctx.body as { id?: unknown } | undefined) ?? {};
    if (typeof id !== 'string') throw faultOf('VALIDATION_ERROR');
    const { user } = await ownerOf(ctx);
    if (!(await passkeys.remove({ ...clientOf(ctx.headers), userId: user.id }, id)))
      throw faultOf('LAST_WAY_TO_SIGN_IN');
    return ctx.json({ status: true });
  });
}

type Owner = Parameters<FactorActions['prove']>[0];

/** @throws APIError without a session */
async function ownerOf(ctx: GenericEndpointContext): Promise<Owner> {
  const found = await getSessionFromCtx(ctx, { disableCookieCache: true });
  if (!found) throw faultOf('UNAUTHORIZED');
  return found;
}
