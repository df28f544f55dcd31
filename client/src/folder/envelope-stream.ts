import { createCipheriv, createDecipheriv, type DecipherGCM, randomBytes } from 'node:crypto';
import { contentCipherParts, DecryptionError, ENVELOPE_FORM, type VaultKeys } from '../core/index.js';

const { version, saltBytes, nonceBytes, tagBytes } = ENVELOPE_FORM;
const HEADER_BYTES = 1 + saltBytes + nonceBytes;
const ALGORITHM = 'aes-256-gcm';

/** Encrypts a content chunk by chunk into one envelope, as `encryptContent` does in memory. */
export async function* sealed(
  keys: VaultKeys,
  encryptedPath: string,
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  const salt = new Uint8Array(randomBytes(saltBytes));
  const nonce = randomBytes(nonceBytes);
  const { key, associated } = await contentCipherParts(keys, encryptedPath, salt);
  const cipher = createCipheriv(ALGORITHM, key, nonce);
  cipher.setAAD(associated);
  yield Buffer.concat([Uint8Array.of(version), salt, nonce]);
  for await (const chunk of content) yield cipher.update(chunk);
  cipher.final();
  yield cipher.getAuthTag();
}

/**
 * Decrypts an envelope chunk by chunk. Danger: only the end authenticates the plaintext; until then it may be forged.
 * @throws DecryptionError, at the end at the latest, when the envelope was altered, truncated or replaced
 */
export async function* opened(
  keys: VaultKeys,
  encryptedPath: string,
  envelope: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  let held = Buffer.alloc(0);
  let decipher: DecipherGCM | undefined;
  for await (const chunk of envelope) {
    held = Buffer.concat([held, chunk]);
    if (!decipher) {
      if (held.length < HEADER_BYTES) continue;
      decipher = await decipherOf(keys, encryptedPath, held.subarray(0, HEADER_BYTES));
      held = held.subarray(HEADER_BYTES);
    }
    const end = held.length - tagBytes; // the last bytes may be the tag
    if (end <= 0) continue;
    yield decipher.update(held.subarray(0, end));
    held = held.subarray(end);
  }
  if (!decipher || held.length < tagBytes) throw new DecryptionError('the envelope is too short');
  verify(decipher, held);
}

async function decipherOf(keys: VaultKeys, encryptedPath: string, header: Buffer): Promise<DecipherGCM> {
  if (header[0] !== version) throw new DecryptionError('the envelope has an unknown version');
  const salt = new Uint8Array(header.subarray(1, 1 + saltBytes));
  const { key, associated } = await contentCipherParts(keys, encryptedPath, salt);
  const nonce = header.subarray(1 + saltBytes);
  const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: tagBytes });
  decipher.setAAD(associated);
  return decipher;
}

function verify(decipher: DecipherGCM, tag: Buffer): void {
  try {
    decipher.setAuthTag(tag).final();
  } catch (cause) {
    throw new DecryptionError('the envelope does not open: wrong key, altered or of another path', { cause });
  }
}
