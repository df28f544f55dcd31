import {
  arrayOf,
  json,
  objectOf,
  oneOf,
  type OperationDocs,
  STRING,
} from '../../../platform/api-docs/index.js';
import {
  bodyOfTexts,
  DONE,
  OF_OWN_POST,
  OF_POST,
  OWN_FACTORS,
  refused,
  SESSION_COOKIE,
  USER,
} from '../identity.js';

const PASSWORD: OperationDocs['body'] = {
  description: 'The password; it may be left out within ten minutes of a sign-in.',
  type: 'application/json',
  schema: { type: 'object', properties: { password: STRING }, additionalProperties: false },
};

const BACKUP_CODES = { ...arrayOf(STRING), description: 'Ten codes, each for one use; shown only here.' };

const NOT_RECENT = {
  ...OF_OWN_POST,
  403: refused(
    'the request was sent by another site, the account is suspended, or `recent sign-in required`: there was no password',
  ),
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
    summary: 'Begin to set up the second factor',
    description: 'The factor is on once `two-factor/verify-totp` has accepted a first code.',
    ...OWN_FACTORS,
    body: PASSWORD,
    answers: {
      200: json(
        'a new secret, as the `otpauth:` address for authenticator apps',
        objectOf({ method: oneOf('totp'), totpURI: STRING }),
      ),
      ...NOT_RECENT,
      400: refused('the password is wrong, the account has none, or a factor is on already'),
    },
  },
  'POST two-factor/verify-totp': {
    id: 'factors.enterCode',
    summary: 'Enter a code of the authenticator app',
    description: `${SIGNS_IN} With a session, finishes the set-up of the factor, or counts as a recent sign-in.`,
    ...OWN_FACTORS,
    body: bodyOfTexts('code'),
    answers: {
      200: json(
        'the session, and the backup codes when this finished the set-up',
        objectOf({ token: STRING, user: USER, backupCodes: BACKUP_CODES }, ['backupCodes']),
        SESSION_COOKIE,
      ),
      ...VERIFIED,
    },
  },
  'POST two-factor/verify-backup-code': {
    id: 'factors.enterBackupCode',
    summary: 'Enter a backup code',
    description: `${SIGNS_IN} With a session, counts as a recent sign-in. A code works once.`,
    ...OWN_FACTORS,
    body: bodyOfTexts('code'),
    answers: {
      200: json('the session', objectOf({ token: STRING, user: USER }), SESSION_COOKIE),
      ...VERIFIED,
    },
  },
  'POST two-factor/generate-backup-codes': {
    id: 'factors.replaceBackupCodes',
    summary: 'Replace the backup codes',
    ...OWN_FACTORS,
    body: PASSWORD,
    answers: {
      200: json(
        'the new codes; the old ones no longer work',
        objectOf({ status: { const: true }, backupCodes: BACKUP_CODES }),
      ),
      ...NOT_RECENT,
      400: refused('the password is wrong, the account has none, or there is no second factor'),
    },
  },
  'POST two-factor/disable': {
    id: 'factors.removeSecondFactor',
    summary: 'Turn the second factor off',
    ...OWN_FACTORS,
    body: PASSWORD,
    answers: {
      200: json('the factor is off', DONE),
      ...NOT_RECENT,
      400: refused('the password is wrong, the account has none, or there is no second factor'),
    },
  },
} as const satisfies Record<string, OperationDocs>;
