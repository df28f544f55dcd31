import {
  arrayOf,
  BOOLEAN,
  json,
  named,
  nullable,
  objectOf,
  oneOf,
  type OperationDocs,
  STRING,
  URL_TEXT,
} from '../../platform/api-docs/index.js';
import { MAX_IMAGE_LENGTH } from './account-fields.js';
import type { IdentityActionName } from './identity-request.js';
import { FACTOR_DOCS } from './factors/factor.docs.js';
import {
  OF_POST,
  refused,
  SESSION,
  SESSION_COOKIE,
  SESSION_NEEDED,
  USER,
  WAITS_FOR_FACTOR,
  WHO,
} from './identity.js';
import { PASSKEY_DOCS } from './passkeys/passkey.docs.js';
import { JWT_MINUTES, ONE_TIME_TOKEN_MINUTES, PASSWORD_LENGTH } from './current-password.js';

const credentials = (names: readonly string[]): OperationDocs['body'] => ({
  type: 'application/json',
  schema: {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, STRING])),
    required: names,
  },
});

const NEW_PASSWORD: OperationDocs['body'] = {
  type: 'application/json',
  schema: {
    type: 'object',
    properties: {
      currentPassword: STRING,
      newPassword: { ...STRING, minLength: PASSWORD_LENGTH.min, maxLength: PASSWORD_LENGTH.max },
      revokeOtherSessions: {
        ...BOOLEAN,
        description:
          'The other sessions are revoked in any case. With true, this session also gets a new token.',
      },
      revokeAccessTokens: { ...BOOLEAN, description: 'Whether to revoke all personal access tokens too.' },
    },
    required: ['currentPassword', 'newPassword'],
    additionalProperties: false,
  },
};

const RESET: OperationDocs['body'] = {
  type: 'application/json',
  schema: {
    type: 'object',
    properties: {
      token: STRING,
      newPassword: { ...STRING, minLength: PASSWORD_LENGTH.min, maxLength: PASSWORD_LENGTH.max },
      revokeAccessTokens: { ...BOOLEAN, description: 'Whether to revoke all personal access tokens too.' },
    },
    required: ['token', 'newPassword'],
    additionalProperties: false,
  },
};

const PROFILE: OperationDocs['body'] = {
  description: 'At least one of the fields.',
  type: 'application/json',
  schema: {
    type: 'object',
    properties: {
      name: STRING,
      image: nullable({ type: 'string', pattern: '^https://', maxLength: MAX_IMAGE_LENGTH }),
    },
    minProperties: 1,
    additionalProperties: false,
  },
};

const DONE = objectOf<{ status: true }>({ status: { const: true } });

const SUSPENDED = refused('the account is suspended');

/** Better Auth as mounted: it has its own session, cookie and origin checks, and its own error format. */
export const IDENTITY_DOCS = {
  tag: 'Identity',
  operations: {
    handle: {
      mounted: {
        'POST sign-up/email': {
          id: 'identity.signUp',
          summary: 'Create an account with email and password',
          body: credentials(['name', 'email', 'password']),
          answers: {
            200: json(
              'the account and a new session; `token` is null, and nobody is signed in, where the address must be confirmed first, also if the address has an account',
              objectOf<Record<'token' | 'user', unknown>>({ token: nullable(STRING), user: USER }),
              SESSION_COOKIE,
            ),
            400: refused('a field is invalid, the password is too common, or sign-up is closed'),
            ...OF_POST,
            422: refused('an account with this email already exists'),
          },
        },
        'POST sign-in/email': {
          id: 'identity.signIn',
          summary: 'Sign in with email and password',
          body: credentials(['email', 'password']),
          answers: {
            200: json(
              'a new session; or, for an account with a second factor, a cookie to send back with the code',
              {
                anyOf: [
                  objectOf<Record<'redirect' | 'token' | 'user' | 'url', unknown>>(
                    { redirect: BOOLEAN, token: STRING, user: USER, url: URL_TEXT },
                    ['url'],
                  ),
                  WAITS_FOR_FACTOR,
                ],
              },
              SESSION_COOKIE,
            ),
            ...OF_POST,
            400: refused('a field is invalid'),
            401: refused('the email or password is wrong'),
            403: refused(
              'the address is not confirmed (`EMAIL_NOT_VERIFIED`), the request was sent by another site, or the account is suspended',
            ),
          },
        },
        'GET get-session': {
          summary: 'Get the session and extend it',
          session: 'optional',
          answers: {
            200: json('the session and its user, or null without a session', nullable(WHO)),
            403: SUSPENDED,
          },
        },
        'GET list-sessions': {
          summary: 'List the live sessions of the user, at most 100',
          ...SESSION_NEEDED,
          answers: {
            200: json(
              'the sessions; `token` is the id of the session, except for the one that asks',
              arrayOf(SESSION),
            ),
            401: refused('there is no session'),
            403: refused(
              'the session is older than a day, so the user must sign in again; or the account is suspended',
            ),
          },
        },
        'POST revoke-session': {
          summary: 'Revoke a session of the user',
          description: '`token` is the one that `list-sessions` shows.',
          ...SESSION_NEEDED,
          body: credentials(['token']),
          answers: {
            200: json('the session is revoked, or no session has this token', DONE),
            ...OF_POST,
            400: refused('the token is missing'),
            401: refused('there is no session'),
          },
        },
        'POST revoke-other-sessions': {
          summary: 'Revoke the other sessions of the user',
          ...SESSION_NEEDED,
          answers: {
            200: json('the sessions are revoked', DONE),
            ...OF_POST,
            400: refused('the body is not JSON'),
            401: refused('there is no session'),
          },
        },
        'POST change-password': {
          summary: 'Change the password and revoke all other sessions',
          ...SESSION_NEEDED,
          body: NEW_PASSWORD,
          answers: {
            200: json(
              'the password is changed; `token` is the new token of this session if `revokeOtherSessions` is true',
              objectOf<Record<'token' | 'user', unknown>>({ token: nullable(STRING), user: USER }),
            ),
            ...OF_POST,
            400: refused(
              'the current password is wrong, the new one is too short, too long or too common, or the account has no password',
            ),
            401: refused('there is no session'),
          },
        },
        'POST request-password-reset': {
          id: 'identity.requestPasswordReset',
          summary: 'Have a link for a new password sent',
          description:
            'The answer is the same whether or not the address has an account. Exists only where the service can send mail.',
          body: credentials(['email']),
          answers: {
            200: json(
              'the request is accepted',
              objectOf<Record<'status' | 'message', unknown>>({ status: { const: true }, message: STRING }),
            ),
            ...OF_POST,
            400: refused('the email is invalid'),
            404: 'the service cannot send mail',
          },
        },
        'POST send-verification-email': {
          id: 'identity.sendVerificationEmail',
          summary: 'Have another link to confirm the address sent',
          description:
            'The answer is the same whether or not the address has an account that waits for it. Exists only where the service can send mail.',
          body: credentials(['email']),
          answers: {
            200: json('the request is accepted', DONE),
            ...OF_POST,
            400: refused('the email is invalid'),
            404: 'the service cannot send mail',
          },
        },
        'POST reset-password': {
          id: 'identity.resetPassword',
          summary: 'Choose a new password by a link and revoke all sessions',
          description:
            'The token is that of the link. It works once. Exists only where the service can send mail.',
          body: RESET,
          answers: {
            200: json('the password is changed', DONE),
            ...OF_POST,
            400: refused(
              'the link does not work any more, or the password is too short, too long or too common',
            ),
            404: 'the service cannot send mail',
          },
        },
        ...FACTOR_DOCS,
        ...PASSKEY_DOCS,
        'POST update-user': {
          summary: 'Change the name or picture of the user',
          ...SESSION_NEEDED,
          body: PROFILE,
          answers: {
            200: json('the user is changed', DONE, SESSION_COOKIE),
            ...OF_POST,
            400: refused('a field is invalid, or there is none'),
            401: refused('there is no session'),
          },
        },
        'GET one-time-token/generate': {
          id: 'identity.createOneTimeToken',
          summary: `Create a one-time token of the session, valid for ${ONE_TIME_TOKEN_MINUTES} minutes`,
          ...SESSION_NEEDED,
          answers: {
            200: json('the token', objectOf<{ token: string }>({ token: STRING })),
            401: refused('there is no session'),
            403: SUSPENDED,
          },
        },
        'POST one-time-token/verify': {
          id: 'identity.verifyOneTimeToken',
          summary: 'Exchange a one-time token for its session',
          description: 'A token works once.',
          body: credentials(['token']),
          answers: {
            200: json('the session and its user', WHO, SESSION_COOKIE),
            ...OF_POST,
            400: refused('the token is unknown, used or expired'),
          },
        },
        'GET token': {
          id: 'identity.getToken',
          summary: `Get a service JWT for the session, valid for ${JWT_MINUTES} minutes while the session lasts`,
          ...SESSION_NEEDED,
          answers: {
            200: json('an RS256 JWT', objectOf<{ token: string }>({ token: STRING })),
            401: refused('there is no session'),
            403: SUSPENDED,
          },
        },
        'GET jwks': {
          id: 'identity.getPublicKeys',
          summary: 'Get the public keys of service JWTs',
          answers: {
            200: json(
              'a JSON Web Key Set',
              objectOf<{ keys: unknown }>({
                keys: arrayOf(
                  named(
                    'PublicKey',
                    objectOf<Record<'alg' | 'kty' | 'e' | 'n' | 'kid', string>>({
                      alg: oneOf('RS256'),
                      kty: oneOf('RSA'),
                      e: STRING,
                      n: STRING,
                      kid: STRING,
                    }),
                  ),
                ),
              }),
            ),
          },
        },
        'POST sign-out': {
          summary: 'Sign out',
          session: 'optional',
          answers: {
            200: json('the session has ended', objectOf<{ success: true }>({ success: { const: true } })),
            ...OF_POST,
            400: refused('the body is not JSON'),
          },
        },
      } satisfies Record<IdentityActionName, OperationDocs>,
    },
  },
} as const;
