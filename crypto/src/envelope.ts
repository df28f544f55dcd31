import { type Bytes, concat, randomBytes } from './bytes.js';
import type { Hkdf } from './derivations.js';
import { DecryptionError } from './errors.js';
import { type HeldKey, hkdfOf } from './hash.js';

/** Bytes that an envelope adds to its plaintext: version 1, salt 32, nonce 12, tag 16. */
export const ENVELOPE_OVERHEAD = 61;

/** The first byte of an envelope, and the lengths of its parts. */
export const ENVELOPE_FORM = { version: 0x01, saltBytes: 32, nonceBytes: 12, tagBytes: 16 } as const;

const VERSION = ENVELOPE_FORM.version;
const SALT_BYTES = ENVELOPE_FORM.saltBytes;
const NONCE_BYTES = ENVELOPE_FORM.nonceBytes;
const HEADER_BYTES = 1 + SALT_BYTES + NONCE_BYTES;
const NO_INFO = new Uint8Array();

/**
 * A key from which each envelope derives its own: held by WebCrypto, or a function that derives 32 bytes from the salt of an
 * envelope. These are wiped after use.
 */
export type EnvelopeKey = HeldKey | ((salt: Bytes) => Bytes | Promise<Bytes>);

/** For a key that its owner wipes when all envelopes are sealed or opened. @param key 32 bytes, not copied */
export const envelopeKey =
  (key: Uint8Array, hkdf: Hkdf): EnvelopeKey =>
  (salt) =>
    hkdf(key, { salt, info: '', length: 32 });

/** The AES key of the envelope with this salt, which the caller wipes. */
export const ownKeyBytes = (key: EnvelopeKey, salt: Bytes): Bytes | Promise<Bytes> =>
  typeof key === 'function' ? key(salt) : hkdfOf(key, { salt, info: '', length: 32 });

/** Fixes the random parts of an envelope. For test vectors only: using a pair twice with one key reveals both texts. */
export interface FixedRandomness {
  /** 32 bytes */
  readonly salt: Uint8Array;
  /** 12 bytes */
  readonly nonce: Uint8Array;
}

/** Each envelope has its own key. @param associated what it is bound to; it opens with the same bytes only */
export async function sealEnvelope(
  key: EnvelopeKey,
  plaintext: Uint8Array,
  associated: Bytes,
  fixed?: FixedRandomness,
): Promise<Bytes> {
  const salt = fixed?.salt ?? randomBytes(SALT_BYTES);
  const nonce = fixed?.nonce ?? randomBytes(NONCE_BYTES);
  if (salt.length !== SALT_BYTES || nonce.length !== NONCE_BYTES)
    throw new RangeError('salt must be 32 bytes and nonce 12');
  const own = await ownKey(key, salt as Bytes, 'encrypt');
  const ciphertext = await crypto.subtle.encrypt(gcm(nonce, associated), own, plaintext as Bytes);
  return concat(Uint8Array.of(VERSION), salt, nonce, new Uint8Array(ciphertext));
}

/** @throws DecryptionError when the envelope was not made with this key and associated data, or was altered */
export async function openEnvelope(
  key: EnvelopeKey,
  envelope: Uint8Array,
  associated: Bytes,
): Promise<Bytes> {
  if (envelope.length < ENVELOPE_OVERHEAD) throw new DecryptionError('the envelope is too short');
  if (envelope[0] !== VERSION) throw new DecryptionError('the envelope has an unknown version');
  const own = await ownKey(key, envelope.subarray(1, 1 + SALT_BYTES) as Bytes, 'decrypt');
  const nonce = envelope.subarray(1 + SALT_BYTES, HEADER_BYTES);
  const ciphertext = envelope.subarray(HEADER_BYTES) as Bytes;
  try {
    return new Uint8Array(await crypto.subtle.decrypt(gcm(nonce, associated), own, ciphertext));
  } catch (cause) {
    throw new DecryptionError('the envelope does not open: wrong key, altered or of another path', { cause });
  }
}

const gcm = (iv: Uint8Array, additionalData: Bytes): { name: string; iv: Bytes; additionalData: Bytes } => ({
  name: 'AES-GCM',
  iv: iv as Bytes,
  additionalData,
});

async function ownKey(key: EnvelopeKey, salt: Bytes, usage: 'encrypt' | 'decrypt'): Promise<HeldKey> {
  if (typeof key !== 'function') {
    const algorithm = { name: 'HKDF', hash: 'SHA-256', salt, info: NO_INFO };
    return crypto.subtle.deriveKey(algorithm, key, { name: 'AES-GCM', length: 256 }, false, [usage]);
  }
  const bytes = await key(salt);
  try {
    return await crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, [usage]);
  } finally {
    bytes.fill(0);
  }
}
