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
  bodyOfTexts,
  DONE,
  jsonBody,
  NO_SESSION,
  OF_OWN_POST,
  OF_POST,
  refused,
  SESSION,
  SESSION_COOKIE,
  SUSPENDED,
  USER,
  WHO,
} from './identity.js';
import { PASSKEY_DOCS } from './passkeys/passkey.docs.js';
import { JWT_MINUTES, ONE_TIME_TOKEN_MINUTES, PASSWORD_LENGTH } from './current-password.js';

/** The answer to a right password when the account has a second factor. */
const WAITS_FOR_FACTOR = named(
  'SecondFactorNeeded',
  objectOf({ twoFactorRedirect: { const: true }, twoFactorMethods: arrayOf(oneOf('totp')) }),
);

const NEW_PASSWORD = { ...STRING, minLength: PASSWORD_LENGTH.min, maxLength: PASSWORD_LENGTH.max };
const REVOKES_TOKENS = { ...BOOLEAN, description: 'Whether to revoke all personal access tokens too.' };

const CHANGE = jsonBody(
  objectOf(
    {
      currentPassword: STRING,
      newPassword: NEW_PASSWORD,
      revokeOtherSessions: {
        ...BOOLEAN,
        description:
          'The other sessions are revoked in any case. With true, this session also gets a new token.',
      },
      revokeAccessTokens: REVOKES_TOKENS,
    },
    ['revokeOtherSessions', 'revokeAccessTokens'],
  ),
);

const RESET = jsonBody(
  objectOf({ token: STRING, newPassword: NEW_PASSWORD, revokeAccessTokens: REVOKES_TOKENS }, [
    'revokeAccessTokens',
  ]),
);

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

const ENTERED = objectOf({ token: nullable(STRING), user: USER });

const TOKEN = objectOf({ token: STRING });

/** Answers of the actions that send mail or need one. */
const OF_MAIL = { ...OF_POST, 404: 'the service cannot send mail' } as const;

/** Better Auth as mounted: it has its own session, cookie and origin checks, and its own error format. */
export const IDENTITY_DOCS = {
  tag: 'Identity',
  operations: {
    handle: {
      mounted: {
        'POST sign-up/email': {
          id: 'identity.signUp',
          summary: 'Create an account with email and password',
          body: bodyOfTexts('name', 'email', 'password'),
          answers: {
            200: json(
              'the account and a new session; `token` is null, and nobody is signed in, where the address must be confirmed first, also if the address has an account',
              ENTERED,
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
          body: bodyOfTexts('email', 'password'),
          answers: {
            200: json(
              'a new session; or, for an account with a second factor, a cookie to send back with the code',
              {
                anyOf: [
                  objectOf({ redirect: BOOLEAN, token: STRING, user: USER, url: URL_TEXT }, ['url']),
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
          session: 'required',
          answers: {
            200: json(
              'the sessions; `token` is the id of the session, except for the one that asks',
              arrayOf(SESSION),
            ),
            401: NO_SESSION,
            403: refused(
              'the session is older than a day, so the user must sign in again; or the account is suspended',
            ),
          },
        },
        'POST revoke-session': {
          summary: 'Revoke a session of the user',
          description: '`token` is the one that `list-sessions` shows.',
          session: 'required',
          body: bodyOfTexts('token'),
          answers: {
            200: json('the session is revoked, or no session has this token', DONE),
            ...OF_OWN_POST,
            400: refused('the token is missing'),
          },
        },
        'POST revoke-other-sessions': {
          summary: 'Revoke the other sessions of the user',
          session: 'required',
          answers: {
            200: json('the sessions are revoked', DONE),
            ...OF_OWN_POST,
            400: refused('the body is not JSON'),
          },
        },
        'POST change-password': {
          summary: 'Change the password and revoke all other sessions',
          session: 'required',
          body: CHANGE,
          answers: {
            200: json(
              'the password is changed; `token` is the new token of this session if `revokeOtherSessions` is true',
              ENTERED,
            ),
            ...OF_OWN_POST,
            400: refused(
              'the current password is wrong, the new one is too short, too long or too common, or the account has no password',
            ),
          },
        },
        'POST request-password-reset': {
          id: 'identity.requestPasswordReset',
          summary: 'Have a link for a new password sent',
          description:
            'The answer is the same whether or not the address has an account. Exists only where the service can send mail.',
          body: bodyOfTexts('email'),
          answers: {
            200: json('the request is accepted', objectOf({ status: { const: true }, message: STRING })),
            ...OF_MAIL,
            400: refused('the email is invalid'),
          },
        },
        'POST send-verification-email': {
          id: 'identity.sendVerificationEmail',
          summary: 'Have another link to confirm the address sent',
          description:
            'The answer is the same whether or not the address has an account that waits for it. Exists only where the service can send mail.',
          body: bodyOfTexts('email'),
          answers: {
            200: json('the request is accepted', DONE),
            ...OF_MAIL,
            400: refused('the email is invalid'),
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
            ...OF_MAIL,
            400: refused(
              'the link does not work any more, or the password is too short, too long or too common',
            ),
          },
        },
        ...FACTOR_DOCS,
        ...PASSKEY_DOCS,
        'POST update-user': {
          summary: 'Change the name or picture of the user',
          session: 'required',
          body: PROFILE,
          answers: {
            200: json('the user is changed', DONE, SESSION_COOKIE),
            ...OF_OWN_POST,
            400: refused('a field is invalid, or there is none'),
          },
        },
        'GET one-time-token/generate': {
          id: 'identity.createOneTimeToken',
          summary: `Create a one-time token of the session, valid for ${ONE_TIME_TOKEN_MINUTES} minutes`,
          session: 'required',
          answers: {
            200: json('the token', TOKEN),
            401: NO_SESSION,
            403: SUSPENDED,
          },
        },
        'POST one-time-token/verify': {
          id: 'identity.verifyOneTimeToken',
          summary: 'Exchange a one-time token for its session',
          description: 'A token works once.',
          body: bodyOfTexts('token'),
          answers: {
            200: json('the session and its user', WHO, SESSION_COOKIE),
            ...OF_POST,
            400: refused('the token is unknown, used or expired'),
          },
        },
        'GET token': {
          id: 'identity.getToken',
          summary: `Get a service JWT for the session, valid for ${JWT_MINUTES} minutes while the session lasts`,
          session: 'required',
          answers: {
            200: json('an RS256 JWT', TOKEN),
            401: NO_SESSION,
            403: SUSPENDED,
          },
        },
        'GET jwks': {
          id: 'identity.getPublicKeys',
          summary: 'Get the public keys of service JWTs',
          answers: {
            200: json(
              'a JSON Web Key Set',
              objectOf({
                keys: arrayOf(
                  named(
                    'PublicKey',
                    objectOf({
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
            200: json('the session has ended', objectOf({ success: { const: true } })),
            ...OF_POST,
            400: refused('the body is not JSON'),
          },
        },
      } satisfies Record<IdentityActionName, OperationDocs>,
    },
  },
} as const;
