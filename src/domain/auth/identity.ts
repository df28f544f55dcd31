import { Injectable } from '@nestjs/common';
import { betterAuth, type BetterAuthOptions } from 'better-auth';
import { APIError } from 'better-auth/api';
import { bearer } from 'better-auth/plugins/bearer';
import { jwt } from 'better-auth/plugins/jwt';
import { oneTimeToken } from 'better-auth/plugins/one-time-token';
import type { DataSource } from 'typeorm';
import {
  type AnswerDocs,
  BOOLEAN,
  ERROR,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  type OperationDocs,
  type Schema,
  STRING,
  UUID,
} from '../../platform/api-docs/index.js';
import { Clock } from '../../platform/clock.js';
import { Configuration } from '../../platform/config/index.js';
import { asName } from '../../platform/http/index.js';
import { type Log, redactUrl } from '../../platform/log.js';
import { fit } from './account-fields.js';
import { AuthAccount, AuthSession, AuthVerification, SigningKey, UserEntity } from './auth.entities.js';
import { JWT_MINUTES, ONE_TIME_TOKEN_MINUTES, PASSWORD_LENGTH } from './current-password.js';
import { EmailVerification } from './email-verification.js';
import { FactorActions, factorPlugin, SecondFactor } from './factors/index.js';
import { type IdentityPool, tableOf } from './identity-pool.js';
import { CLIENT_ADDRESS_HEADER, identityRequests } from './identity-request.js';
import { Passkey, passkeyPlugin, Passkeys } from './passkeys/index.js';
import { PasswordRecovery } from './password-recovery.js';
import { IdentityPasswords, passwordPlugin, recoveryPlugin } from './sign-in-passwords.js';
import {
  LIBRARY_READS_AT_MOST,
  SessionCap,
  sessionCookiePlugin,
  sessionListPlugin,
  UserSessions,
} from './user-sessions.js';

/** The services that the identity handler uses. */
@Injectable()
export class IdentityServices {
  constructor(
    readonly passwords: IdentityPasswords,
    readonly factors: FactorActions,
    readonly passkeys: Passkeys,
    readonly sessionCap: SessionCap,
    readonly recovery: PasswordRecovery,
    readonly verification: EmailVerification,
    readonly clock: Clock,
    readonly sessions: UserSessions,
  ) {}
}

interface Stores {
  readonly source: DataSource;
  readonly identityPool: IdentityPool;
  /** When a password or another factor was last given in a session; the library hides the column from its plugins. */
  readonly confirmedAt: (sessionId: string) => Promise<Date | null>;
}

const jwtPlugin = ({ publicUrl }: Configuration, { source, confirmedAt }: Stores) =>
  jwt({
    jwks: { keyPairConfig: { alg: 'RS256', modulusLength: 2048 } },
    jwt: {
      issuer: publicUrl,
      audience: publicUrl,
      expirationTime: `${JWT_MINUTES}m`,
      definePayload: async ({ session }) => claimsOf(session.id, await confirmedAt(session.id)),
    },
    disableSettingJwtHeader: true,
    schema: { jwks: tableOf(source, SigningKey) },
  });

/** The identity handler: email and password, sessions, one-time tokens and service JWTs, on the service's own tables. */
// oxlint-disable-next-line typescript/explicit-module-boundary-types -- the library infers its API from the plugins
export function createIdentity(
  configuration: Configuration,
  secret: string,
  services: IdentityServices,
  stores: Stores,
  log: Log,
) {
  const { source, identityPool } = stores;
  const { passwords, factors, passkeys, sessions, verification } = services;
  return betterAuth({
    database: identityPool,
    secret,
    baseURL: configuration.publicUrl,
    basePath: '/api/auth',
    // Only for callback URLs; settleSource checks the origin of requests.
    trustedOrigins: configuration.trustedOrigins.filter((origin) => /^https?:/.test(origin)),
    telemetry: { enabled: false },
    logger: {
      level: 'warn',
      // Most of what the library logs as errors are client mistakes, and its messages repeat client input.
      log: (_level, message) => log.warn({}, redactUrl(message)),
    },
    rateLimit: { enabled: false }, // the service counts sign-ins itself, across all instances
    emailAndPassword: {
      enabled: true,
      disableSignUp: !configuration.signupEnabled,
      requireEmailVerification: configuration.requiresVerifiedEmail,
      onExistingUserSignUp: ({ user }) => verification.tellOwner(user),
      customSyntheticUser: asStored,
      minPasswordLength: PASSWORD_LENGTH.min,
      maxPasswordLength: PASSWORD_LENGTH.max,
      password: { hash: passwords.signIn.hash, verify: passwords.signIn.verify },
    },
    advanced: {
      database: { generateId: 'uuid', defaultFindManyLimit: LIBRARY_READS_AT_MOST },
      ipAddress: { ipAddressHeaders: [CLIENT_ADDRESS_HEADER] },
      // Set explicitly: by default the library skips origin checks when NODE_ENV or TEST indicates tests.
      disableOriginCheck: false,
      disableCSRFCheck: false,
    },
    onAPIError: { throw: true }, // the service's filter answers 401, 500 or 503 to errors that are not the library's own answers
    databaseHooks: hooksOf(services),
    ...tablesIn(source),
    plugins: [
      // Before the plugins that issue sessions.
      factorPlugin(factors, new URL(configuration.publicUrl).hostname, tableOf(source, SecondFactor)),
      jwtPlugin(configuration, stores),
      bearer(),
      oneTimeToken({ storeToken: 'hashed', expiresIn: ONE_TIME_TOKEN_MINUTES }),
      passwordPlugin(passwords),
      sessionCookiePlugin(),
      sessionListPlugin(sessions),
      passkeyPlugin(factors, passkeys, configuration.publicUrl, tableOf(source, Passkey)),
      recoveryPlugin(services),
    ],
  });
}

/** The account that a sign-up with a taken address pretends to have created, in the form that would have been stored. */
const asStored: NonNullable<NonNullable<BetterAuthOptions['emailAndPassword']>['customSyntheticUser']> = ({
  coreFields,
  additionalFields,
  id,
}) => ({ ...coreFields, name: asName(coreFields.name), ...additionalFields, id });

/**
 * The OpenID Connect claims about the origin of a JWT: `sid`, the session, and `auth_time`, when its user last gave a password or
 * another factor, in seconds; absent if the session has no such time.
 */
export const claimsOf = (
  sessionId: string,
  confirmedAt: Date | null,
): { sid: string; auth_time?: number } => ({
  sid: sessionId,
  ...(confirmedAt && { auth_time: Math.floor(confirmedAt.getTime() / 1000) }),
});

type Hooks = NonNullable<BetterAuthOptions['databaseHooks']>;

const hooksOf = ({
  passwords: { signIn },
  factors,
  sessionCap,
  clock,
  passkeys,
  verification,
}: IdentityServices): Hooks => ({
  user: { create: { before: fit, after: (user) => verification.begin(user) }, update: { before: fit } },
  session: {
    create: {
      before: (session) => {
        const [now, factorAt] = [clock.now(), identityRequests.getStore()?.hasFactor ? clock.now() : null];
        return Promise.resolve({ data: { confirmedAt: now, factorAt, ...session } });
      },
      after: async (session) => {
        const { passkey } = identityRequests.getStore() ?? {};
        if (passkey !== undefined && !(await passkeys.check(session, passkey)))
          throw new APIError('UNAUTHORIZED', { message: 'Unauthorized' });
        if (await signIn.check(session)) await sessionCap.begun(session);
      },
    },
  },
  verification: {
    create: {
      before: (verification) => {
        const expiresAt = factors.pending.expiryOf(verification);
        return Promise.resolve({ data: expiresAt ? { expiresAt } : {} });
      },
      after: async (verification) => {
        await factors.pending.check(verification);
        await sessionCap.minted(verification);
      },
    },
  },
});

export type Identity = ReturnType<typeof createIdentity>;

/** A column that the library writes and never returns. */
function hiddenTime(fieldName: string) {
  return { type: 'date' as const, fieldName, required: false, input: false, returned: false };
}

/** The service's own tables. */
const tablesIn = (source: DataSource) => ({
  user: tableOf(source, UserEntity),
  session: {
    ...tableOf(source, AuthSession),
    additionalFields: {
      /** When a password or another factor was last given in the session. */
      confirmedAt: hiddenTime('confirmed_at'),
      /** When a code or a passkey was last given in it; null if none was. */
      factorAt: hiddenTime('factor_at'),
    },
  },
  account: tableOf(source, AuthAccount),
  // The nightly job removes expired rows; the library would do so on each lookup, by a clock that may be wrong.
  verification: { ...tableOf(source, AuthVerification), disableCleanup: true },
});

export const USER = named(
  'IdentityUser',
  objectOf({
    id: UUID,
    name: STRING,
    email: STRING,
    emailVerified: BOOLEAN,
    image: nullable(STRING),
    createdAt: INSTANT,
    updatedAt: INSTANT,
    twoFactorEnabled: BOOLEAN,
  }),
);

export const SESSION = named(
  'IdentitySession',
  objectOf({
    id: UUID,
    userId: UUID,
    token: STRING,
    expiresAt: INSTANT,
    createdAt: INSTANT,
    updatedAt: INSTANT,
    ipAddress: nullable(STRING),
    userAgent: nullable(STRING),
  }),
);

export const WHO = objectOf({ session: SESSION, user: USER });

export const DONE = objectOf({ status: { const: true } });

export const jsonBody = (schema: Schema): OperationDocs['body'] => ({ type: 'application/json', schema });

/** A body of texts, all of them required. */
export const bodyOfTexts = (...names: readonly string[]): OperationDocs['body'] =>
  jsonBody({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, STRING])),
    required: names,
  });

/** The handler's own error format, or that of the service, which reads the body first. */
const REFUSED: Schema = {
  anyOf: [ERROR, named('IdentityError', objectOf({ message: STRING, code: STRING }, ['code']))],
};

export const refused = (description: string): AnswerDocs => json(description, REFUSED);

export const NO_SESSION = refused('there is no session');
export const SUSPENDED = refused('the account is suspended');

/** Answers that every POST may get. */
export const OF_POST = {
  403: refused('the request was sent by another site, or the account is suspended'),
  413: 'the body is too large',
} as const;

/** Answers that every POST of a user who is signed in may get. */
export const OF_OWN_POST = { ...OF_POST, 401: NO_SESSION } as const;

/** Actions on the factors of the user who is signed in. */
export const OWN_FACTORS = { tag: 'Factors', session: 'required' } as const;

export const SESSION_COOKIE = {
  'Set-Cookie': 'The session cookie, for browsers.',
  'set-auth-token': 'The signed session token, for apps.',
};
