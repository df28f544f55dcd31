import { aessiv } from '@noble/ciphers/aes.js';
import { type Bytes, fromBase64url, textOf, toBase64url, utf8 } from './bytes.js';
import type { EnvelopeKey } from './envelope.js';
import { DecryptionError, InvalidPathError } from './errors.js';
import type { VaultKeys } from './vault-keys.js';

/** Longest encrypted path that the service accepts, in characters: a path of 3,056 bytes of UTF-8. */
export const MAX_ENCRYPTED_PATH = 4_096;

/** Longest asset token that the service accepts, in characters: a name of 752 bytes of UTF-8. */
export const MAX_ASSET_TOKEN = 1_024;

/**
 * Normalizes a path to the vault's form: NFC, segments separated by `/`.
 * @throws InvalidPathError when it is empty, starts or ends with `/`, or has an empty, `.` or `..` segment, a control
 * character or an unpaired surrogate
 */
export function normalizePath(path: string): string {
  const normal = path.normalize('NFC');
  if (normal === '') throw new InvalidPathError('the path is empty');
  if (/\p{Cc}/u.test(normal)) throw new InvalidPathError('the path contains a control character');
  // UTF-8 has no unpaired surrogates: two names would become one.
  if (/\p{Cs}/u.test(normal)) throw new InvalidPathError('the path is not well-formed Unicode');
  const segments = normal.split('/');
  if (segments.includes('')) throw new InvalidPathError('the path contains an empty segment');
  if (segments.includes('.') || segments.includes('..'))
    throw new InvalidPathError('the path contains a . or .. segment');
  return normal;
}

/**
 * Encrypts a path to its stored form. Deterministic: a path has exactly one encrypted form.
 * @throws InvalidPathError as normalizePath, and when the result is longer than MAX_ENCRYPTED_PATH
 */
export function encryptPath(keys: VaultKeys<EnvelopeKey>, path: string): string {
  return sealed(keys.path, path, MAX_ENCRYPTED_PATH);
}

/**
 * Decrypts a path and checks the rules of normalizePath, NFC included.
 * @throws DecryptionError when it does not open; InvalidPathError when the plaintext breaks the rules, as a faulty or
 * hostile client may have stored it
 */
export function decryptPath(keys: VaultKeys<EnvelopeKey>, encryptedPath: string): string {
  return opened(keys.path, encryptedPath);
}

/** Encrypts an asset's name to its token of at most MAX_ASSET_TOKEN characters. @throws InvalidPathError as encryptPath */
export function encryptAssetName(keys: VaultKeys<EnvelopeKey>, name: string): string {
  return sealed(keys.assetName, name, MAX_ASSET_TOKEN);
}

/** @throws DecryptionError and InvalidPathError as decryptPath */
export function decryptAssetName(keys: VaultKeys<EnvelopeKey>, token: string): string {
  return opened(keys.assetName, token);
}

function sealed(key: Bytes, name: string, maxLength: number): string {
  const text = toBase64url(aessiv(key).encrypt(utf8(normalizePath(name))));
  if (text.length > maxLength) throw new InvalidPathError('the path is too long');
  return text;
}

function opened(key: Bytes, text: string): string {
  const bytes = fromBase64url(text);
  let plaintext: Uint8Array;
  try {
    plaintext = aessiv(key).decrypt(bytes);
  } catch (cause) {
    throw new DecryptionError('the path does not open: wrong key or altered', { cause });
  }
  const name = textOf(plaintext);
  if (normalizePath(name) !== name) throw new InvalidPathError('the path is not in NFC');
  return name;
}
