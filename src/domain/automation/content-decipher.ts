import { createDecipheriv, type DecipherGCM } from 'node:crypto';
import {
  contentCipherParts,
  DecryptionError,
  ENVELOPE_FORM,
  ENVELOPE_OVERHEAD,
} from '../../../crypto/src/index.js';
import type { ByteRange } from '../../platform/storage/index.js';
import type { WipeableKeys } from './wipeable-keys.js';

const { version, saltBytes, nonceBytes, tagBytes } = ENVELOPE_FORM;
const HEADER_BYTES = ENVELOPE_OVERHEAD - tagBytes;

/**
 * The positions of the parts of an envelope of this size.
 * @throws DecryptionError when it is too short
 */
export function envelopeParts(size: number): Record<'header' | 'ciphertext' | 'tag', ByteRange> {
  if (size < ENVELOPE_OVERHEAD) throw new DecryptionError('the envelope is too short');
  const tag = size - tagBytes;
  return {
    header: { start: 0, end: HEADER_BYTES - 1 },
    ciphertext: { start: HEADER_BYTES, end: tag - 1 },
    tag: { start: tag, end: size - 1 },
  };
}

/**
 * Decrypts content chunk by chunk, for content that is too large to hold in memory. Needs the keys only until it resolves.
 * Danger: no chunk is authenticated before `final` has returned, so the output of a first pass must not be shown to anyone.
 * @throws DecryptionError when the header is malformed
 */
export async function contentDecipher(
  keys: WipeableKeys,
  encryptedPath: string,
  { header, tag }: { readonly header: Uint8Array; readonly tag: Uint8Array },
): Promise<DecipherGCM> {
  if (header.length !== HEADER_BYTES || tag.length !== tagBytes)
    throw new DecryptionError('the envelope is too short');
  if (header[0] !== version) throw new DecryptionError('the envelope has an unknown version');
  const salt = Uint8Array.from(header.subarray(1, 1 + saltBytes));
  const nonce = header.subarray(1 + saltBytes, 1 + saltBytes + nonceBytes);
  const { key, associated } = await contentCipherParts(keys, encryptedPath, salt);
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
    decipher.setAAD(associated);
    decipher.setAuthTag(tag);
    return decipher;
  } finally {
    key.fill(0); // the decipher has its own copy, which is freed with it
  }
}
