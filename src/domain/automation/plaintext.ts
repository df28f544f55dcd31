import {
  decryptLabel,
  decryptPath,
  DecryptionError,
  ENVELOPE_OVERHEAD,
  InvalidPathError,
  type VaultKeys,
} from './vault-crypto.js';

/** Bytes of plaintext in an envelope of `encryptedSize`; 0 when it is too small to be an envelope. */
export function plaintextSize(encryptedSize: number): number {
  return Math.max(encryptedSize - ENVELOPE_OVERHEAD, 0);
}

/**
 * The decrypted path, or null when another client encrypted it with another key or by other rules. Null is shown to
 * the caller.
 */
export function pathOrNull(keys: VaultKeys, encryptedPath: string): string | null {
  return openedOrNull(() => decryptPath(keys, encryptedPath));
}

/** The same for a label. */
export function labelOrNull(keys: VaultKeys, encryptedLabel: string): string | null {
  return openedOrNull(() => decryptLabel(keys, encryptedLabel));
}

function openedOrNull(open: () => string): string | null {
  try {
    return open();
  } catch (error) {
    if (error instanceof DecryptionError || error instanceof InvalidPathError) return null;
    throw error;
  }
}
