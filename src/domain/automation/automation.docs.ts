import { MASTER_KEY_KDF as KDF } from '../../../crypto/src/index.js';
import { DEVICE_ID } from '../devices/index.js';
import {
  INSTANT,
  json,
  matching,
  nullable,
  objectOf,
  OK,
  oneOf,
  SHA256_HEX,
  STRING,
  UUID,
} from '../../platform/api-docs/index.js';

export const TAG = 'Automation';

/** For every route that requires a key session. */
export const KEY_SESSION = {
  'X-Key-Session': { description: 'The key session that opens the workspace.', isRequired: true },
} as const;

export const NO_SESSION = { 401: 'key session required' } as const;

export const WRITING = {
  ...KEY_SESSION,
  'X-Device-Id': {
    description: 'The device that makes the change. Default: `automation`.',
    schema: matching(DEVICE_ID),
  },
} as const;

export const OF_NOTE = {
  path: {
    description: 'The path of the note, percent-encoded except for its slashes. It is the rest of the URL.',
  },
} as const;

/** The data from which a client derives the keys with the password; the salts are null before encryption is set up. */
export interface VaultMetadata {
  readonly workspaceId: string;
  readonly name: string;
  readonly encryptionSalt: string | null;
  readonly verificationSalt: string | null;
  readonly kdf: typeof KDF;
}

const METADATA = objectOf<VaultMetadata>({
  workspaceId: UUID,
  name: STRING,
  encryptionSalt: nullable(SHA256_HEX),
  verificationSalt: nullable({ type: 'string', pattern: '^(?:[0-9a-f]{2}){16,64}$' }),
  kdf: objectOf<typeof KDF>({
    name: oneOf(KDF.name),
    iterations: oneOf(KDF.iterations),
    passwordEncoding: oneOf(KDF.passwordEncoding),
    keyBytes: oneOf(KDF.keyBytes),
  }),
});

const SESSION = objectOf({
  keySession: { type: 'string', pattern: '^ks_[A-Za-z0-9_-]{43}$' },
  expiresAt: INSTANT,
});

export const KEY_SESSIONS_DOCS = {
  tag: TAG,
  operations: {
    getMetadata: {
      summary: 'Get the salts and key derivation parameters of a workspace',
      description: 'A token to which `assets:read` was granted by name needs no subscription.',
      answers: {
        200: json(
          'the salts and key derivation parameters; the salts are null before the encryption is set up',
          METADATA,
        ),
        402: 'an active subscription is required',
      },
    },
    open: {
      id: 'automation.openKeySession',
      summary: 'Open a key session',
      description:
        'Takes exactly one of `password`, `recoveryKey` and `key`, the master key in base64. The password is tried on the ' +
        'password slots of the workspace or, if it has none, derives the master key. The recovery key may be typed with ' +
        'or without hyphens, in either case. While the session is open, the service can read the workspace. The session ' +
        'ends 15 minutes after its last use, and after 8 hours at most.',
      answers: {
        201: json('the session token, which is returned only once', SESSION),
        403: 'the password, recovery key or key is wrong',
        409: 'the encryption is not set up, there is no recovery key, or the password opens none of the slots that were tried and others were left',
      },
    },
    end: {
      id: 'automation.endKeySession',
      summary: 'End the key session',
      headers: KEY_SESSION,
      answers: { 200: json('the session has ended', OK), ...NO_SESSION },
    },
  },
} as const;
