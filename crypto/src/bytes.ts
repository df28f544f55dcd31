import { DecryptionError } from './errors.js';

/** Bytes that own their memory, as WebCrypto requires. */
export type Bytes = Uint8Array<ArrayBuffer>;

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }); // a leading U+FEFF belongs to the text
const STEP = 0x8000; // most arguments of a call

export const utf8 = (text: string): Bytes => ENCODER.encode(text);

/** @throws DecryptionError when the bytes are not UTF-8 */
export function textOf(bytes: Uint8Array): string {
  try {
    return DECODER.decode(bytes);
  } catch (cause) {
    throw new DecryptionError('the text is not UTF-8', { cause });
  }
}

export function concat(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export const randomBytes = (length: number): Bytes => crypto.getRandomValues(new Uint8Array(length));

/** Takes the same time for all bytes of the same length. */
export function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (const [at, byte] of a.entries()) difference |= byte ^ (b[at] ?? 0);
  return difference === 0;
}

/** Lower case. */
export const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Accepts either case. @throws RangeError unless it is the hex of at least one byte */
export function fromHex(hex: string): Bytes {
  if (typeof hex !== 'string' || !/^([0-9a-f]{2})+$/i.test(hex)) throw new RangeError('not hex');
  return Uint8Array.from({ length: hex.length / 2 }, (_, at) =>
    Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16),
  );
}

/** RFC 4648 section 4, with padding. */
export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += STEP)
    binary += String.fromCharCode(...bytes.subarray(at, at + STEP));
  return btoa(binary);
}

/** RFC 4648 section 5, without padding. */
export const toBase64url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');

/**
 * Accepts only the encoding that `toBase64` produces: a name must not have two spellings.
 * @throws DecryptionError for everything else, including values of other types
 */
export function fromBase64(text: unknown): Bytes {
  return canonical(text, /^[A-Za-z0-9+/]*={0,2}$/, 'base64', toBase64);
}

/** Like `fromBase64`, for base64url. @throws DecryptionError for everything else */
export function fromBase64url(text: unknown): Bytes {
  return canonical(text, /^[A-Za-z0-9_-]*$/, 'base64url', toBase64url);
}

function canonical(text: unknown, form: RegExp, name: string, encode: (bytes: Uint8Array) => string): Bytes {
  if (typeof text === 'string' && form.test(text)) {
    const bytes = decoded(text.replaceAll('-', '+').replaceAll('_', '/'));
    if (bytes && encode(bytes) === text) return bytes;
  }
  throw new DecryptionError(`not canonical ${name}`);
}

function decoded(base64: string): Bytes | undefined {
  let binary: string;
  try {
    binary = atob(base64);
  } catch {
    return undefined;
  }
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
