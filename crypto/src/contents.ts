import { type Bytes, fromBase64, textOf, toBase64, utf8 } from './bytes.js';
import {
  type EnvelopeKey,
  type FixedRandomness,
  openEnvelope,
  ownKeyBytes,
  sealEnvelope,
} from './envelope.js';
import { InvalidPathError } from './errors.js';
import type { VaultKeys } from './vault-keys.js';

const NOTHING = new Uint8Array();

/**
 * Encrypts a file's content. Every envelope is different, and each is bound to this path: renaming a file requires
 * encrypting it again. Holds the whole content in memory, because WebCrypto has no streams.
 * @throws InvalidPathError when `encryptedPath` is not a result of encryptPath, such as a plaintext path
 */
export async function encryptContent(
  keys: VaultKeys<EnvelopeKey>,
  encryptedPath: string,
  plaintext: Uint8Array,
  fixed?: FixedRandomness,
): Promise<Bytes> {
  return sealEnvelope(keys.content, plaintext, boundTo(encryptedPath), fixed);
}

/** @throws DecryptionError when it was not made for this path or was altered; InvalidPathError as encryptContent */
export async function decryptContent(
  keys: VaultKeys<EnvelopeKey>,
  encryptedPath: string,
  envelope: Uint8Array,
): Promise<Bytes> {
  return openEnvelope(keys.content, envelope, boundTo(encryptedPath));
}

/**
 * The AES key of the envelope with this salt, which the caller wipes, and its associated data, for a streaming cipher, which
 * WebCrypto lacks.
 * @throws InvalidPathError as encryptContent
 */
export async function contentCipherParts(
  keys: VaultKeys<EnvelopeKey>,
  encryptedPath: string,
  salt: Bytes,
): Promise<{ readonly key: Bytes; readonly associated: Bytes }> {
  const associated = boundTo(encryptedPath);
  return { key: await ownKeyBytes(keys.content, salt), associated };
}

/** Encrypts the label of a checkpoint to its stored form, base64. */
export async function encryptLabel(
  keys: VaultKeys<EnvelopeKey>,
  label: string,
  fixed?: FixedRandomness,
): Promise<string> {
  return toBase64(await sealEnvelope(keys.label, utf8(label), NOTHING, fixed));
}

/** @throws DecryptionError when it is not base64, does not open or is not UTF-8 */
export async function decryptLabel(keys: VaultKeys<EnvelopeKey>, encryptedLabel: string): Promise<string> {
  return textOf(await openEnvelope(keys.label, fromBase64(encryptedLabel), NOTHING));
}

/** Encrypts an asset, which is sent in base64. It is not bound to its name: renaming leaves the bytes as they are. */
export async function encryptAsset(
  keys: VaultKeys<EnvelopeKey>,
  plaintext: Uint8Array,
  fixed?: FixedRandomness,
): Promise<Bytes> {
  return sealEnvelope(keys.asset, plaintext, NOTHING, fixed);
}

/** @throws DecryptionError when the envelope does not open */
export async function decryptAsset(keys: VaultKeys<EnvelopeKey>, envelope: Uint8Array): Promise<Bytes> {
  return openEnvelope(keys.asset, envelope, NOTHING);
}

/** Content is bound to base64url only, which catches a plaintext path that is passed by mistake. */
function boundTo(encryptedPath: string): Bytes {
  if (!/^[A-Za-z0-9_-]+$/.test(encryptedPath)) throw new InvalidPathError('not an encrypted path');
  return utf8(encryptedPath);
}
