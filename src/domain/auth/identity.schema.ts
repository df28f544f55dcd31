import {
  type AnswerDocs,
  arrayOf,
  BOOLEAN,
  ERROR,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  oneOf,
  type Schema,
  STRING,
  UUID,
} from '../../platform/api-docs/index.js';

const TEXT_OR_NULL = nullable(STRING);

type UserKey =
  'id' | 'name' | 'email' | 'emailVerified' | 'image' | 'createdAt' | 'updatedAt' | 'twoFactorEnabled';

export const USER = named(
  'IdentityUser',
  objectOf<Record<UserKey, unknown>>({
    id: UUID,
    name: STRING,
    email: STRING,
    emailVerified: BOOLEAN,
    image: TEXT_OR_NULL,
    createdAt: INSTANT,
    updatedAt: INSTANT,
    twoFactorEnabled: BOOLEAN,
  }),
);

type SessionKey =
  'id' | 'userId' | 'token' | 'expiresAt' | 'createdAt' | 'updatedAt' | 'ipAddress' | 'userAgent';

export const SESSION = named(
  'IdentitySession',
  objectOf<Record<SessionKey, unknown>>({
    id: UUID,
    userId: UUID,
    token: STRING,
    expiresAt: INSTANT,
    createdAt: INSTANT,
    updatedAt: INSTANT,
    ipAddress: TEXT_OR_NULL,
    userAgent: TEXT_OR_NULL,
  }),
);

export const WHO = objectOf<Record<'session' | 'user', unknown>>({ session: SESSION, user: USER });

/** The answer to a right password when the account has a second factor. */
export const WAITS_FOR_FACTOR = named(
  'SecondFactorNeeded',
  objectOf<Record<'twoFactorRedirect' | 'twoFactorMethods', unknown>>({
    twoFactorRedirect: { const: true },
    twoFactorMethods: arrayOf(oneOf('totp')),
  }),
);

/** The handler's own error format, or that of the service, which reads the body first. */
const REFUSED: Schema = {
  anyOf: [
    ERROR,
    named('IdentityError', {
      type: 'object',
      properties: { message: STRING, code: STRING },
      required: ['message'],
      additionalProperties: false,
    }),
  ],
};

export const refused = (description: string): AnswerDocs => json(description, REFUSED);

/** Answers that every POST may get. */
export const OF_POST = {
  403: refused('the request was sent by another site, or the account is suspended'),
  413: 'the body is too large',
} as const;

export const SESSION_NEEDED = { session: 'required' } as const;

export const SESSION_COOKIE = {
  'Set-Cookie': 'The session cookie, for browsers.',
  'set-auth-token': 'The signed session token, for apps.',
};
