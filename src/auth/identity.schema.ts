import {
  type AnswerDocs,
  BOOLEAN,
  ERROR,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  type Schema,
  STRING,
  UUID,
} from '../api-docs/index.js';

const TEXT_OR_NULL = nullable(STRING);

export const USER = named(
  'IdentityUser',
  objectOf<Record<'id' | 'name' | 'email' | 'emailVerified' | 'image' | 'createdAt' | 'updatedAt', unknown>>({
    id: UUID,
    name: STRING,
    email: STRING,
    emailVerified: BOOLEAN,
    image: TEXT_OR_NULL,
    createdAt: INSTANT,
    updatedAt: INSTANT,
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
