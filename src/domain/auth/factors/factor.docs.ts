import {
  arrayOf,
  json,
  objectOf,
  oneOf,
  type OperationDocs,
  STRING,
} from '../../../platform/api-docs/index.js';
import { OF_POST, refused, SESSION_COOKIE, SESSION_NEEDED, USER } from '../identity.js';

const PASSWORD: OperationDocs['body'] = {
  description: 'The password; it may be left out within ten minutes of a sign-in.',
  type: 'application/json',
  schema: { type: 'object', properties: { password: STRING }, additionalProperties: false },
};

const CODE: OperationDocs['body'] = {
  type: 'application/json',
  schema: { type: 'object', properties: { code: STRING }, required: ['code'] },
};

const BACKUP_CODES = { ...arrayOf(STRING), description: 'Ten codes, each for one use; shown only here.' };

const NOT_RECENT = {
  ...OF_POST,
  403: refused(
    'the request was sent by another site, the account is suspended, or `recent sign-in required`: there was no password',
  ),
  401: refused('there is no session'),
};

const VERIFIED = {
  ...OF_POST,
  400: refused('the code is not text'),
  401: refused('the code is wrong or was used before, or no sign-in waits for one'),
  429: refused('there were five wrong codes in a quarter of an hour'),
};

const SIGNS_IN =
  'Without a session, completes the sign-in that `sign-in/email` answered with `twoFactorRedirect`; its cookie must be sent back.';

/** The second factor, under /api/auth/two-factor. */
export const FACTOR_DOCS = {
  'POST two-factor/enable': {
    id: 'factors.beginSecondFactor',
    tag: 'Factors',
    summary: 'Begin to set up the second factor',
    description: 'The factor is on once `two-factor/verify-totp` has accepted a first code.',
    ...SESSION_NEEDED,
    body: PASSWORD,
    answers: {
      200: json(
        'a new secret, as the `otpauth:` address for authenticator apps',
        objectOf<Record<'method' | 'totpURI', string>>({ method: oneOf('totp'), totpURI: STRING }),
      ),
      ...NOT_RECENT,
      400: refused('the password is wrong, the account has none, or a factor is on already'),
    },
  },
  'POST two-factor/verify-totp': {
    id: 'factors.enterCode',
    tag: 'Factors',
    summary: 'Enter a code of the authenticator app',
    description: `${SIGNS_IN} With a session, finishes the set-up of the factor, or counts as a recent sign-in.`,
    ...SESSION_NEEDED,
    body: CODE,
    answers: {
      200: json(
        'the session, and the backup codes when this finished the set-up',
        objectOf<Record<'token' | 'user' | 'backupCodes', unknown>>(
          { token: STRING, user: USER, backupCodes: BACKUP_CODES },
          ['backupCodes'],
        ),
        SESSION_COOKIE,
      ),
      ...VERIFIED,
    },
  },
  'POST two-factor/verify-backup-code': {
    id: 'factors.enterBackupCode',
    tag: 'Factors',
    summary: 'Enter a backup code',
    description: `${SIGNS_IN} With a session, counts as a recent sign-in. A code works once.`,
    ...SESSION_NEEDED,
    body: CODE,
    answers: {
      200: json(
        'the session',
        objectOf<Record<'token' | 'user', unknown>>({ token: STRING, user: USER }),
        SESSION_COOKIE,
      ),
      ...VERIFIED,
    },
  },
  'POST two-factor/generate-backup-codes': {
    id: 'factors.replaceBackupCodes',
    tag: 'Factors',
    summary: 'Replace the backup codes',
    ...SESSION_NEEDED,
    body: PASSWORD,
    answers: {
      200: json(
        'the new codes; the old ones no longer work',
        objectOf<Record<'status' | 'backupCodes', unknown>>({
          status: { const: true },
          backupCodes: BACKUP_CODES,
        }),
      ),
      ...NOT_RECENT,
      400: refused('the password is wrong, the account has none, or there is no second factor'),
    },
  },
  'POST two-factor/disable': {
    id: 'factors.removeSecondFactor',
    tag: 'Factors',
    summary: 'Turn the second factor off',
    ...SESSION_NEEDED,
    body: PASSWORD,
    answers: {
      200: json('the factor is off', objectOf<{ status: true }>({ status: { const: true } })),
      ...NOT_RECENT,
      400: refused('the password is wrong, the account has none, or there is no second factor'),
    },
  },
} as const satisfies Record<string, OperationDocs>;
