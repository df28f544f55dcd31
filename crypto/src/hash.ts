import { type Bytes, toHex, utf8 } from './bytes.js';

/** A key that WebCrypto holds: it cannot be exported, and not be wiped before it is collected. */
export type HeldKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const EMPTY = new Uint8Array();

export async function sha256(bytes: Uint8Array): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Bytes));
}

/** SHA-256 in lower-case hex: the content hash of an envelope. */
export async function contentHash(bytes: Uint8Array): Promise<string> {
  return toHex(await sha256(bytes));
}

/** An HKDF key that cannot be exported. */
export function hkdfKey(bytes: Uint8Array): Promise<HeldKey> {
  return crypto.subtle.importKey('raw', bytes as Bytes, 'HKDF', false, ['deriveBits', 'deriveKey']);
}

/** Parameters of HKDF-SHA256 (RFC 5869). */
export interface HkdfParameters {
  /** Default: empty */
  readonly salt?: Bytes;
  readonly info: string;
  /** Length of the result in bytes */
  readonly length: 32 | 64;
}

/** RFC 5869 with SHA-256. */
export async function hkdfOf(key: HeldKey, { salt = EMPTY, info, length }: HkdfParameters): Promise<Bytes> {
  const algorithm = { name: 'HKDF', hash: 'SHA-256', salt, info: utf8(info) };
  return new Uint8Array(await crypto.subtle.deriveBits(algorithm, key, length * 8));
}
