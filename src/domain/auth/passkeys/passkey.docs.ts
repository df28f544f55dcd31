import {
  arrayOf,
  BOOLEAN,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  type OperationDocs,
  type Schema,
  STRING,
  UUID,
} from '../../../platform/api-docs/index.js';
import {
  DONE,
  jsonBody,
  NO_SESSION,
  OF_OWN_POST,
  OF_POST,
  OWN_FACTORS,
  refused,
  SESSION_COOKIE,
  SUSPENDED,
  WHO,
} from '../identity.js';

const PASSKEY = named(
  'Passkey',
  objectOf({
    id: UUID,
    userId: UUID,
    name: nullable(STRING),
    publicKey: STRING,
    credentialID: STRING,
    counter: { type: 'integer' },
    deviceType: STRING,
    backedUp: BOOLEAN,
    transports: nullable(STRING),
    createdAt: INSTANT,
    aaguid: nullable(STRING),
  }),
);

/** Defined by WebAuthn. */
const OPTIONS: Schema = { type: 'object', properties: { challenge: STRING }, required: ['challenge'] };

const CHALLENGE_COOKIE = {
  'Set-Cookie': 'The cookie that the answer to the challenge must be sent back with.',
};
const NOT_RECENT = refused('`recent sign-in required`, or the account is suspended');
const UNVERIFIED = refused('the challenge is unknown, used or expired, or the answer is not valid for it');

/** Passkeys, under /api/auth/passkey. */
export const PASSKEY_DOCS = {
  'GET passkey/generate-register-options': {
    id: 'factors.beginPasskey',
    summary: 'Begin to add a passkey',
    ...OWN_FACTORS,
    answers: {
      200: json('the options for `navigator.credentials.create`', OPTIONS, CHALLENGE_COOKIE),
      401: NO_SESSION,
      403: NOT_RECENT,
    },
  },
  'POST passkey/verify-registration': {
    id: 'factors.addPasskey',
    summary: 'Add a passkey',
    ...OWN_FACTORS,
    body: jsonBody({
      type: 'object',
      properties: { response: { type: 'object' }, name: STRING },
      required: ['response'],
    }),
    answers: {
      200: json('the passkey', PASSKEY),
      ...OF_POST,
      400: UNVERIFIED,
      401: refused('there is no session, or the authenticator did not verify the user'),
      403: NOT_RECENT,
    },
  },
  'GET passkey/generate-authenticate-options': {
    id: 'factors.beginPasskeySignIn',
    tag: 'Factors',
    summary: 'Begin to sign in with a passkey',
    answers: { 200: json('the options for `navigator.credentials.get`', OPTIONS, CHALLENGE_COOKIE) },
  },
  'POST passkey/verify-authentication': {
    id: 'factors.signInWithPasskey',
    tag: 'Factors',
    summary: 'Sign in with a passkey',
    description: 'Replaces the password and the second factor: the authenticator has verified the user.',
    body: jsonBody({
      type: 'object',
      properties: { response: { type: 'object' } },
      required: ['response'],
    }),
    answers: {
      200: json('a new session', WHO, SESSION_COOKIE),
      ...OF_POST,
      400: UNVERIFIED,
      401: refused('the passkey is unknown, or the authenticator did not verify the user'),
    },
  },
  'GET passkey/list-user-passkeys': {
    id: 'factors.listPasskeys',
    summary: 'List the passkeys of the user',
    ...OWN_FACTORS,
    answers: {
      200: json('the passkeys', arrayOf(PASSKEY)),
      401: NO_SESSION,
      403: SUSPENDED,
    },
  },
  'POST passkey/update-passkey': {
    id: 'factors.renamePasskey',
    summary: 'Rename a passkey',
    ...OWN_FACTORS,
    body: jsonBody(objectOf({ id: STRING, name: STRING })),
    answers: {
      200: json('the passkey', objectOf({ passkey: PASSKEY })),
      ...OF_POST,
      400: refused('a field is invalid'),
      401: refused('there is no session, or the passkey is of another user'),
      404: refused('there is no such passkey'),
    },
  },
  'POST passkey/delete-passkey': {
    id: 'factors.removePasskey',
    summary: 'Remove a passkey',
    ...OWN_FACTORS,
    body: jsonBody(objectOf({ id: STRING })),
    answers: {
      200: json('the passkey is removed', DONE),
      ...OF_OWN_POST,
      400: refused('it is the last way to sign in, or the id is not text'),
      403: NOT_RECENT,
      404: refused('there is no such passkey'),
    },
  },
} as const satisfies Record<string, OperationDocs>;
