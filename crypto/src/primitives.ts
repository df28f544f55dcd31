import type { Bytes } from './bytes.js';
import { type HeldKey, hkdfKey, hkdfOf, type HkdfParameters } from './hash.js';

/** HKDF-SHA256 (RFC 5869). The caller wipes the result. */
export type Hkdf = (key: Uint8Array, parameters: HkdfParameters) => Bytes | Promise<Bytes>;

/** PBKDF2-HMAC-SHA256: 32 bytes, which the caller wipes. */
export type Pbkdf2 = (password: Bytes, salt: Bytes, iterations: number) => Promise<Bytes>;

/** The cost of one derivation by Argon2id: memoryKiB × 1,024 bytes, and time proportional to memoryKiB × passes. */
export interface Argon2idCost {
  readonly memoryKiB: number;
  readonly passes: number;
  readonly lanes: number;
}

/** The input of Argon2id (RFC 9106), version 0x13. Its cost has been checked. */
export interface Argon2idInput extends Argon2idCost {
  readonly password: Uint8Array;
  readonly salt: Uint8Array;
}

/** Derives 32 bytes, which the caller wipes. */
export type Argon2id = (input: Argon2idInput) => Promise<Bytes>;

/** AES-256-GCM with a nonce of 12 bytes and a tag of 16 bytes, which follows the ciphertext. */
export interface Aead {
  seal(key: Bytes, box: AeadBox, plaintext: Uint8Array): Bytes | Promise<Bytes>;
  /** Undefined unless it was sealed with this key and box. */
  open(key: Bytes, box: AeadBox, sealed: Uint8Array): Bytes | undefined | Promise<Bytes | undefined>;
}

/** The nonce and the associated data of a sealed text. */
export interface AeadBox {
  readonly nonce: Uint8Array;
  readonly associated: Uint8Array;
}

/**
 * The algorithms below the formats of this package. A program may bring its own: off its event loop, or without copies of keys that
 * it cannot wipe.
 */
export interface Primitives {
  readonly hkdf: Hkdf;
  readonly pbkdf2: Pbkdf2;
  readonly argon2id: Argon2id;
  readonly aead: Aead;
}

const KEY_BYTES = 32;

/**
 * WebCrypto, whose copies of keys stay in memory until they are collected. Argon2id by hash-wasm, which blocks the calling thread
 * for a quarter of a second or more.
 */
export const PRIMITIVES: Primitives = {
  hkdf: async (key, parameters) => hkdfOf(await hkdfKey(key), parameters),
  async pbkdf2(password, salt, iterations) {
    const key = await crypto.subtle.importKey('raw', password, 'PBKDF2', false, ['deriveBits']);
    const algorithm = { name: 'PBKDF2', hash: 'SHA-256', salt, iterations };
    return new Uint8Array(await crypto.subtle.deriveBits(algorithm, key, KEY_BYTES * 8));
  },
  async argon2id({ password, salt, memoryKiB: memorySize, passes: iterations, lanes: parallelism }) {
    const { argon2id } = await import('hash-wasm'); // large, and only some callers need it
    const cost = { memorySize, iterations, parallelism, hashLength: KEY_BYTES };
    return Uint8Array.from(await argon2id({ password, salt, ...cost, outputType: 'binary' }));
  },
  aead: {
    seal: async (key, box, plaintext) => sealBy(await aesKey(key, 'encrypt'), box, plaintext),
    open: async (key, box, sealed) => openBy(await aesKey(key, 'decrypt'), box, sealed),
  },
};

const aesKey = (key: Bytes, usage: 'encrypt' | 'decrypt'): Promise<HeldKey> =>
  crypto.subtle.importKey('raw', key, 'AES-GCM', false, [usage]);

/** `Aead.seal` with a key that WebCrypto holds. */
export async function sealBy(key: HeldKey, box: AeadBox, plaintext: Uint8Array): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.encrypt(gcm(box), key, plaintext as Bytes));
}

/** `Aead.open` with a key that WebCrypto holds. */
export async function openBy(key: HeldKey, box: AeadBox, sealed: Uint8Array): Promise<Bytes | undefined> {
  try {
    return new Uint8Array(await crypto.subtle.decrypt(gcm(box), key, sealed as Bytes));
  } catch (error) {
    if ((error as Error).name === 'OperationError') return undefined;
    throw error;
  }
}

const gcm = ({ nonce, associated }: AeadBox): { name: string; iv: Bytes; additionalData: Bytes } => ({
  name: 'AES-GCM',
  iv: nonce as Bytes,
  additionalData: associated as Bytes,
});
