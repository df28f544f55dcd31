import { type Bytes, concat, randomBytes } from './bytes.js';
import { DecryptionError } from './errors.js';
import { type HeldKey, hkdfOf } from './hash.js';
import { type Aead, openBy, type Primitives, sealBy } from './primitives.js';

/** Bytes that an envelope adds to its plaintext: version 1, salt 32, nonce 12, tag 16. */
export const ENVELOPE_OVERHEAD = 61;

/** The first byte of an envelope, and the lengths of its parts. */
export const ENVELOPE_FORM = { version: 0x01, saltBytes: 32, nonceBytes: 12, tagBytes: 16 } as const;

const VERSION = ENVELOPE_FORM.version;
const SALT_BYTES = ENVELOPE_FORM.saltBytes;
const NONCE_BYTES = ENVELOPE_FORM.nonceBytes;
const HEADER_BYTES = 1 + SALT_BYTES + NONCE_BYTES;
const NO_INFO = new Uint8Array();

/** A key from which each envelope derives its own: held by WebCrypto, or by a program that wipes it. */
export type EnvelopeKey = HeldKey | OwnedKey;

/** A key whose bytes its owner wipes. */
interface OwnedKey {
  /** The AES key of the envelope with this salt, which is wiped after use. */
  readonly derive: (salt: Bytes) => Bytes | Promise<Bytes>;
  readonly aead: Aead;
}

/** For a key that its owner wipes when all envelopes are sealed or opened. @param key 32 bytes, not copied */
export const envelopeKey = (
  key: Uint8Array,
  { hkdf, aead }: Pick<Primitives, 'hkdf' | 'aead'>,
): EnvelopeKey => ({
  derive: (salt) => hkdf(key, { salt, info: '', length: 32 }),
  aead,
});

const isOwned = (key: EnvelopeKey): key is OwnedKey => 'aead' in key;

/** The AES key of the envelope with this salt, which the caller wipes. */
export const ownKeyBytes = (key: EnvelopeKey, salt: Bytes): Bytes | Promise<Bytes> =>
  isOwned(key) ? key.derive(salt) : hkdfOf(key, { salt, info: '', length: 32 });

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
  const box = { nonce, associated };
  const sealed = isOwned(key)
    ? await withBytes(key.derive(salt as Bytes), (own) => key.aead.seal(own, box, plaintext))
    : await sealBy(await heldKey(key, salt as Bytes, 'encrypt'), box, plaintext);
  return concat(Uint8Array.of(VERSION), salt, nonce, sealed);
}

/** @throws DecryptionError when the envelope was not made with this key and associated data, or was altered */
export async function openEnvelope(
  key: EnvelopeKey,
  envelope: Uint8Array,
  associated: Bytes,
): Promise<Bytes> {
  if (envelope.length < ENVELOPE_OVERHEAD) throw new DecryptionError('the envelope is too short');
  if (envelope[0] !== VERSION) throw new DecryptionError('the envelope has an unknown version');
  const salt = envelope.subarray(1, 1 + SALT_BYTES) as Bytes;
  const box = { nonce: envelope.subarray(1 + SALT_BYTES, HEADER_BYTES), associated };
  const sealed = envelope.subarray(HEADER_BYTES);
  const plaintext = isOwned(key)
    ? await withBytes(key.derive(salt), (own) => key.aead.open(own, box, sealed))
    : await openBy(await heldKey(key, salt, 'decrypt'), box, sealed);
  if (plaintext) return plaintext;
  throw new DecryptionError('the envelope does not open: wrong key, altered or of another path');
}

function heldKey(key: HeldKey, salt: Bytes, usage: 'encrypt' | 'decrypt'): Promise<HeldKey> {
  const algorithm = { name: 'HKDF', hash: 'SHA-256', salt, info: NO_INFO };
  return crypto.subtle.deriveKey(algorithm, key, { name: 'AES-GCM', length: 256 }, false, [usage]);
}

/** Wipes the key after use. */
async function withBytes<T>(key: Bytes | Promise<Bytes>, use: (key: Bytes) => T | Promise<T>): Promise<T> {
  const bytes = await key;
  try {
    return await use(bytes);
  } finally {
    bytes.fill(0);
  }
}
