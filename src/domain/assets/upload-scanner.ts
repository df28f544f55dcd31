import { BadRequest, JsonAroundText } from '../../platform/http/index.js';

const ALPHABET = /^[A-Za-z0-9+/]*$/;
const QUANTUM = 4;

/**
 * Strict standard base64, decoded chunk by chunk: alphabet, padding, no whitespace, and no non-zero bits after the
 * last byte, so every byte sequence has exactly one encoding.
 */
class Base64Decoder {
  /** The tail received so far: only the very last quantum may have padding. */
  private pending = '';

  /** Returns the bytes that can be decoded so far. @throws BadRequest */
  push(text: string): Buffer {
    const all = this.pending + text;
    const certain = Math.max(Math.floor(all.length / QUANTUM) - 1, 0) * QUANTUM;
    this.pending = all.slice(certain);
    const body = all.slice(0, certain);
    // Buffer.from skips unknown characters and accepts base64url.
    if (!ALPHABET.test(body)) throw notBase64();
    return Buffer.from(body, 'base64');
  }

  /** Returns the last bytes. @throws BadRequest */
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

/** Members that may appear only once: a decision based on the first occurrence would not hold for the second. */
const ONCE = new Set(['encryptedFilename', 'data']);

/** JSON may escape any character; of the base64 characters, encoders escape the slash and the equals sign. */
const ESCAPE = /\\(?:\/|u([0-9a-fA-F]{4}))/g;
const BROKEN_OFF_ESCAPE = /\\(?:u[0-9a-fA-F]{0,3})?$/;

/**
 * Parses a JSON object as it arrives: the text of its member `data` is decoded and discarded immediately, everything
 * else is kept. Base64 inside a string never affects whether the JSON around it is valid. Text is latin1 here, one
 * character per byte, until it is parsed.
 */
export class UploadScanner {
  private readonly around = new JsonAroundText('data', ONCE);
  private readonly decoder = new Base64Decoder();
  /** The start of an escape at the end of the previous chunk of `data`. */
  private brokenOff = '';
  /** The length before the text of `data`, once it has begun. */
  private lengthBefore: number | undefined;

  /** Whether the text of `data` has begun or is complete. */
  get hasData(): boolean {
    return this.lengthBefore !== undefined;
  }

  /** Returns the bytes of the envelope in the next chunk of the body. @throws BadRequest, PayloadTooLarge */
  feed(chunk: Buffer): Buffer {
    const text = chunk.toString('latin1');
    const decoded: Buffer[] = [];
    for (let at = 0; at < text.length;) {
      if (this.around.isInText) at = this.readData(text, at, decoded);
      else this.readAround(text.charAt(at++));
    }
    return Buffer.concat(decoded);
  }

  /** Returns the members before `data`, once it has begun. @throws BadRequest */
  membersBefore(): Record<string, unknown> {
    return this.around.membersBefore(this.lengthBefore ?? 0);
  }

  /** Returns all members; call it after the last byte. @throws BadRequest */
  members(): Record<string, unknown> {
    return this.around.members();
  }

  /** Decodes up to the end of the text or of the chunk; returns the position where it stopped. */
  private readData(text: string, at: number, decoded: Buffer[]): number {
    const quote = text.indexOf('"', at); // never an escaped one: base64 has no quotes
    const end = quote < 0 ? text.length : quote;
    let piece = this.brokenOff + text.slice(at, end);
    this.brokenOff = BROKEN_OFF_ESCAPE.exec(piece)?.[0] ?? '';
    piece = piece.slice(0, piece.length - this.brokenOff.length);
    if (piece.includes('\\')) piece = unescaped(piece);
    decoded.push(this.decoder.push(piece));
    if (quote >= 0) this.endData(decoded);
    return end;
  }

  private endData(decoded: Buffer[]): void {
    if (this.brokenOff !== '') throw notBase64();
    decoded.push(this.decoder.end());
    this.around.isInText = false; // the quote itself is then read as the end of a string
  }

  private readAround(char: string): void {
    this.around.read(char);
    if (this.around.isInText) this.lengthBefore = this.around.length;
  }
}

function unescaped(text: string): string {
  return text.replace(ESCAPE, (_, code: string | undefined) =>
    code === undefined ? '/' : String.fromCharCode(parseInt(code, 16)),
  );
}
