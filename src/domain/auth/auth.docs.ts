import { INSTANT, json, named, objectOf, type Schema, STRING, UUID } from '../../platform/api-docs/index.js';

const TAG = 'Account';

const EMAIL: Schema = { type: 'string' };

const USER = named(
  'User',
  objectOf<Record<'id' | 'email' | 'name' | 'created_at' | 'updated_at', string>>({
    id: UUID,
    email: EMAIL,
    name: STRING,
    created_at: INSTANT,
    updated_at: INSTANT,
  }),
);

const LOGGED_IN = objectOf<Record<'token' | 'userId' | 'email' | 'name', string>>({
  token: STRING,
  userId: UUID,
  email: EMAIL,
  name: STRING,
});

export const ME_DOCS = {
  tag: TAG,
  operations: {
    me: {
      summary: 'Get the user of the token',
      answers: { 200: json('the user', USER), 404: 'the user of the JWT has been deleted' },
    },
  },
} as const;

export const DEV_LOGIN_DOCS = {
  tag: TAG,
  operations: {
    devLogin: {
      summary: 'Get a service JWT for any email',
      description: 'For tests and development. Creates the user if it does not exist.',
      headers: { 'X-Dev-Login-Key': { description: 'The DEV_LOGIN_KEY of the service.', isRequired: true } },
      answers: {
        200: json('the token', LOGGED_IN),
        403: 'dev-login is not enabled, the key is wrong, or the account is suspended or has a second factor',
      },
    },
  },
} as const;
