import { type SecretConfig, symmetricDecrypt, symmetricEncrypt } from 'better-auth/crypto';
import { createHmac, randomInt } from 'node:crypto';

const BACKUP_CODES = 10;
const CODE_LENGTH = 10;

/** Without letters and digits that are easily misread. */
const ALPHABET = '23456789abcdefghjkmnpqrstuvwxyz';

/** Ten new backup codes, each `xxxxx-xxxxx`, 49 random bits. */
export function newBackupCodes(): string[] {
  return Array.from({ length: BACKUP_CODES }, () => {
    const code = Array.from({ length: CODE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
    return `${code.slice(0, CODE_LENGTH / 2)}-${code.slice(CODE_LENGTH / 2)}`;
  });
}

/** What the identity handler holds of `AUTH_SECRET`. */
export interface FactorKeys {
  readonly secret: string;
  readonly secretConfig: string | SecretConfig;
}

/** Protects second factors with `AUTH_SECRET`, so that the database alone opens no account. */
export class FactorVault {
  constructor(private readonly keys: FactorKeys) {}

  encrypt(totpSecret: string): Promise<string> {
    return symmetricEncrypt({ key: this.keys.secretConfig, data: totpSecret });
  }

  /** Null when `AUTH_SECRET` has changed: then no code is right, and the operator has to reset the factor. */
  decrypt(stored: string): Promise<string | null> {
    return symmetricDecrypt({ key: this.keys.secretConfig, data: stored }).catch(() => null);
  }

  /** The stored form of a backup code. Case, spaces and dashes of the entered code do not matter. */
  hash(userId: string, backupCode: string): string {
    const plain = backupCode.toLowerCase().replace(/[\s-]/g, '');
    return createHmac('sha256', this.keys.secret).update(`backup-code:${userId}:${plain}`).digest('hex');
  }
}
