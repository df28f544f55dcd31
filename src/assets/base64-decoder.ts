import { BadRequest } from '../platform/http/index.js';

const ALPHABET = /^[A-Za-z0-9+/]*$/;
const QUANTUM = 4;

/**
 * Strict standard base64, piece by piece: alphabet, padding, no whitespace, and no bits left over behind the last byte,
 * so that no two texts mean the same bytes.
 */
export class Base64Decoder {
  /** The end of what came so far: only the very last quantum may have padding. */
  private pending = '';

  /** The bytes that are certain now. @throws BadRequest */
  push(text: string): Buffer {
    const all = this.pending + text;
    const certain = Math.max(Math.floor(all.length / QUANTUM) - 1, 0) * QUANTUM;
    this.pending = all.slice(certain);
    const body = all.slice(0, certain);
    // Buffer.from skips what it does not know, and knows base64url.
    if (!ALPHABET.test(body)) throw notBase64();
    return Buffer.from(body, 'base64');
  }

  /** The last bytes. @throws BadRequest */
  end(): Buffer {
    const last = Buffer.from(this.pending, 'base64');
    if (last.toString('base64') !== this.pending) throw notBase64();
    this.pending = '';
    return last;
  }
}

export function notBase64(): BadRequest {
  return new BadRequest('data must be standard base64, with padding and without whitespace');
}
