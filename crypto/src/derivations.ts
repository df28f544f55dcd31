import type { Bytes } from './bytes.js';
import { hkdfKey, hkdfOf, type HkdfParameters } from './hash.js';

/** HKDF-SHA256 (RFC 5869). The caller wipes the result. */
export type Hkdf = (key: Uint8Array, parameters: HkdfParameters) => Bytes | Promise<Bytes>;

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

/** How keys are derived. A program may bring its own: off its event loop, or without a copy of a key that it cannot wipe. */
export interface Derivations {
  readonly hkdf: Hkdf;
  readonly argon2id: Argon2id;
}

const KEY_BYTES = 32;

/**
 * HKDF by WebCrypto, whose copy of the key stays in memory until it is collected. Argon2id by hash-wasm, which blocks the calling
 * thread for a quarter of a second or more.
 */
export const DERIVATIONS: Derivations = {
  hkdf: async (key, parameters) => hkdfOf(await hkdfKey(key), parameters),
  async argon2id({ password, salt, memoryKiB: memorySize, passes: iterations, lanes: parallelism }) {
    const { argon2id } = await import('hash-wasm'); // large, and only some callers need it
    const cost = { memorySize, iterations, parallelism, hashLength: KEY_BYTES };
    return Uint8Array.from(await argon2id({ password, salt, ...cost, outputType: 'binary' }));
  },
};
