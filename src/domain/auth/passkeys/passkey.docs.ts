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
import { OF_POST, refused, SESSION_COOKIE, SESSION_NEEDED, WHO } from '../identity.js';

type PasskeyKey =
  | 'id'
  | 'userId'
  | 'name'
  | 'publicKey'
  | 'credentialID'
  | 'counter'
  | 'deviceType'
  | 'backedUp'
  | 'transports'
  | 'createdAt'
  | 'aaguid';

const PASSKEY = named(
  'Passkey',
  objectOf<Record<PasskeyKey, unknown>>({
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

const bodyOf = (
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
): OperationDocs['body'] => ({
  type: 'application/json',
  schema: { type: 'object', properties, required },
});

const strictBodyOf = (properties: Readonly<Record<string, Schema>>): OperationDocs['body'] => ({
  type: 'application/json',
  schema: { type: 'object', properties, required: Object.keys(properties), additionalProperties: false },
});

const CHALLENGE_COOKIE = {
  'Set-Cookie': 'The cookie that the answer to the challenge must be sent back with.',
};
const NO_SESSION = refused('there is no session');
const NOT_RECENT = refused('`recent sign-in required`, or the account is suspended');
const UNVERIFIED = refused('the challenge is unknown, used or expired, or the answer is not valid for it');

/** Passkeys, under /api/auth/passkey. */
export const PASSKEY_DOCS = {
  'GET passkey/generate-register-options': {
    id: 'factors.beginPasskey',
    tag: 'Factors',
    summary: 'Begin to add a passkey',
    ...SESSION_NEEDED,
    answers: {
      200: json('the options for `navigator.credentials.create`', OPTIONS, CHALLENGE_COOKIE),
      401: NO_SESSION,
      403: NOT_RECENT,
    },
  },
  'POST passkey/verify-registration': {
    id: 'factors.addPasskey',
    tag: 'Factors',
    summary: 'Add a passkey',
    ...SESSION_NEEDED,
    body: bodyOf({ response: { type: 'object' }, name: STRING }, ['response']),
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
    body: bodyOf({ response: { type: 'object' } }, ['response']),
    answers: {
      200: json('a new session', WHO, SESSION_COOKIE),
      ...OF_POST,
      400: UNVERIFIED,
      401: refused('the passkey is unknown, or the authenticator did not verify the user'),
    },
  },
  'GET passkey/list-user-passkeys': {
    id: 'factors.listPasskeys',
    tag: 'Factors',
    summary: 'List the passkeys of the user',
    ...SESSION_NEEDED,
    answers: {
      200: json('the passkeys', arrayOf(PASSKEY)),
      401: NO_SESSION,
      403: refused('the account is suspended'),
    },
  },
  'POST passkey/update-passkey': {
    id: 'factors.renamePasskey',
    tag: 'Factors',
    summary: 'Rename a passkey',
    ...SESSION_NEEDED,
    body: strictBodyOf({ id: STRING, name: STRING }),
    answers: {
      200: json('the passkey', objectOf<{ passkey: unknown }>({ passkey: PASSKEY })),
      ...OF_POST,
      400: refused('a field is invalid'),
      401: refused('there is no session, or the passkey is of another user'),
      404: refused('there is no such passkey'),
    },
  },
  'POST passkey/delete-passkey': {
    id: 'factors.removePasskey',
    tag: 'Factors',
    summary: 'Remove a passkey',
    ...SESSION_NEEDED,
    body: strictBodyOf({ id: STRING }),
    answers: {
      200: json('the passkey is removed', objectOf<{ status: true }>({ status: { const: true } })),
      ...OF_POST,
      400: refused('it is the last way to sign in, or the id is not text'),
      401: NO_SESSION,
      403: NOT_RECENT,
      404: refused('there is no such passkey'),
    },
  },
} as const satisfies Record<string, OperationDocs>;
