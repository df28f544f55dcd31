import { decryptPath, isUnopened, type VaultKeys } from '../crypto/index.js';

/** @returns undefined for a name of another vault, or one that a faulty client wrote */
export function openedPath(keys: VaultKeys, encryptedPath: string): string | undefined {
  try {
    return decryptPath(keys, encryptedPath);
  } catch (error) {
    if (isUnopened(error)) return undefined;
    throw error;
  }
}
