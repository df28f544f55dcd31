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
} from '../api-docs/index.js';
import type { IdentityActionName } from './identity-actions.js';
import { OF_POST, refused, SESSION, USER, WHO } from './identity.schema.js';
import { JWT_MINUTES, ONE_TIME_TOKEN_MINUTES, PASSWORD_LENGTH } from './password-policy.js';

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
        description: 'Others end in any case; with true this one gets a new token as well.',
      },
      revokeAccessTokens: { ...BOOLEAN, description: 'Whether all personal access tokens end too.' },
    },
    required: ['currentPassword', 'newPassword'],
  },
};

const PROFILE: OperationDocs['body'] = {
  description: 'One of them at least; other fields are dropped, an `email` is refused.',
  type: 'application/json',
  schema: {
    type: 'object',
    properties: { name: STRING, image: nullable(STRING) },
    minProperties: 1,
  },
};

const DONE = objectOf<{ status: true }>({ status: { const: true } });

const SESSION_NEEDED = {
  headers: {
    Authorization: {
      description: '`Bearer` and the session token; a browser sends its session cookie instead.',
    },
  },
} as const;

const SUSPENDED = refused('the account is suspended');

const COOKIE = {
  'Set-Cookie': 'The session, for browsers.',
  'set-auth-token': 'The signed session token, for apps.',
};

/** Better Auth as mounted: it has its own session, cookie and origin checks, and its own error format. */
export const IDENTITY_DOCS = {
  tag: 'Identity',
  operations: {
    handle: {
      mounted: {
        'POST sign-up/email': {
          summary: 'Make an account with email and password',
          body: credentials(['name', 'email', 'password']),
          answers: {
            200: json(
              'the account, and a session for it',
              objectOf<Record<'token' | 'user', unknown>>({ token: STRING, user: USER }),
              COOKIE,
            ),
            400: refused('a field is not in order, the password too common, or signing up is switched off'),
            ...OF_POST,
            422: refused('there is an account with this email already'),
          },
        },
        'POST sign-in/email': {
          summary: 'Sign in with email and password',
          body: credentials(['email', 'password']),
          answers: {
            200: json(
              'a session',
              objectOf<Record<'redirect' | 'token' | 'user' | 'url', unknown>>(
                { redirect: BOOLEAN, token: STRING, user: USER, url: URL_TEXT },
                ['url'],
              ),
              COOKIE,
            ),
            ...OF_POST,
            400: refused('a field is not in order'),
            401: refused('email or password is wrong'),
          },
        },
        'GET get-session': {
          summary: 'The session, which slides on with use',
          ...SESSION_NEEDED,
          answers: { 200: json('the session and its user; null for none', nullable(WHO)), 403: SUSPENDED },
        },
        'GET list-sessions': {
          summary: 'The live sessions of the user, a hundred at most',
          ...SESSION_NEEDED,
          answers: {
            200: json('the sessions, each with its token', arrayOf(SESSION)),
            401: refused('there is no session'),
            403: refused('the session is older than a day: sign in anew; or the account is suspended'),
          },
        },
        'POST revoke-session': {
          summary: 'End one session of the user',
          ...SESSION_NEEDED,
          body: credentials(['token']),
          answers: {
            200: json('it has ended, or there was none with this token', DONE),
            ...OF_POST,
            400: refused('there is no token'),
            401: refused('there is no session'),
          },
        },
        'POST revoke-other-sessions': {
          summary: 'End the other sessions of the user, a hundred at a time',
          ...SESSION_NEEDED,
          answers: {
            200: json('they have ended', DONE),
            ...OF_POST,
            400: refused('the body is not JSON'),
            401: refused('there is no session'),
          },
        },
        'POST change-password': {
          summary: 'Change the password; all other sessions end',
          ...SESSION_NEEDED,
          body: NEW_PASSWORD,
          answers: {
            200: json(
              'it has changed; the token is the new one of this session, when `revokeOtherSessions` is true',
              objectOf<Record<'token' | 'user', unknown>>({ token: nullable(STRING), user: USER }),
            ),
            ...OF_POST,
            400: refused(
              'the current password is wrong, the new one too short, too long or too common, or there is none to change',
            ),
            401: refused('there is no session'),
          },
        },
        'POST update-user': {
          summary: 'Change the own name or picture',
          ...SESSION_NEEDED,
          body: PROFILE,
          answers: {
            200: json('it has changed', DONE, COOKIE),
            ...OF_POST,
            400: refused('a field is not in order, or there is none'),
            401: refused('there is no session'),
          },
        },
        'GET one-time-token/generate': {
          summary: `A one-time token of the session, for ${ONE_TIME_TOKEN_MINUTES} minutes`,
          ...SESSION_NEEDED,
          answers: {
            200: json('the token', objectOf<{ token: string }>({ token: STRING })),
            401: refused('there is no session'),
            403: SUSPENDED,
          },
        },
        'POST one-time-token/verify': {
          summary: 'Turn a one-time token into its session; works once',
          body: credentials(['token']),
          answers: {
            200: json('the session and its user', WHO, COOKIE),
            ...OF_POST,
            400: refused('the token is unknown, used or too old'),
          },
        },
        'GET token': {
          summary: `A service JWT of the session, for ${JWT_MINUTES} minutes`,
          ...SESSION_NEEDED,
          answers: {
            200: json('an RS256 JWT', objectOf<{ token: string }>({ token: STRING })),
            401: refused('there is no session'),
            403: SUSPENDED,
          },
        },
        'GET jwks': {
          summary: 'The public keys of service JWTs',
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
          summary: 'End the session',
          ...SESSION_NEEDED,
          answers: {
            200: json('it has ended', objectOf<{ success: true }>({ success: { const: true } })),
            ...OF_POST,
            400: refused('the body is not JSON'),
          },
        },
      } satisfies Record<IdentityActionName, OperationDocs>,
    },
  },
} as const;
