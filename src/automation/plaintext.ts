import {
  decryptLabel,
  decryptPath,
  DecryptionError,
  ENVELOPE_OVERHEAD,
  InvalidPathError,
  type VaultKeys,
} from './vault-crypto.js';

/** Bytes of plaintext in an envelope of `encryptedSize`; 0 for what is too small to be one. */
export function plaintextSize(encryptedSize: number): number {
  return Math.max(encryptedSize - ENVELOPE_OVERHEAD, 0);
}

/** The path, or null for one that another client made under another key or by other rules: it is shown as such. */
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
