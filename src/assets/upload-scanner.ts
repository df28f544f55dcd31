import { BadRequest, JsonAroundText } from '../platform/http/index.js';

const ALPHABET = /^[A-Za-z0-9+/]*$/;
const QUANTUM = 4;

/**
 * Strict standard base64, piece by piece: alphabet, padding, no whitespace, and no bits left over behind the last byte,
 * so that no two texts mean the same bytes.
 */
class Base64Decoder {
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

/** Members that may not come twice: what was decided on the first would not hold for the second. */
const ONCE = new Set(['encryptedFilename', 'data']);

/** JSON may write any character so; of base64's own, encoders do it to the slash and the equals sign. */
const ESCAPE = /\\(?:\/|u([0-9a-fA-F]{4}))/g;
const BROKEN_OFF_ESCAPE = /\\(?:u[0-9a-fA-F]{0,3})?$/;

/**
 * Takes a JSON object apart as it comes: the text of its member `data` is decoded at once and forgotten, all the rest is
 * kept. With a text of base64 in it, it is JSON exactly when it is JSON without. Texts are latin1 here, a character per
 * byte, until they are parsed.
 */
export class UploadScanner {
  private readonly around = new JsonAroundText('data', ONCE);
  private readonly decoder = new Base64Decoder();
  /** The start of an escape in which the last piece of `data` ended. */
  private brokenOff = '';
  /** How much stands before the text of `data`, once that has begun. */
  private lengthBefore: number | undefined;

  /** Whether the text of `data` has begun, or gone by. */
  get hasData(): boolean {
    return this.lengthBefore !== undefined;
  }

  /** The bytes of the envelope in the next piece of the body. @throws BadRequest, PayloadTooLarge */
  feed(chunk: Buffer): Buffer {
    const text = chunk.toString('latin1');
    const decoded: Buffer[] = [];
    for (let at = 0; at < text.length;) {
      if (this.around.isInText) at = this.readData(text, at, decoded);
      else this.readAround(text.charAt(at++));
    }
    return Buffer.concat(decoded);
  }

  /** The members before `data`, once that has begun. @throws BadRequest */
  membersBefore(): Record<string, unknown> {
    return this.around.membersBefore(this.lengthBefore ?? 0);
  }

  /** All members, after the last byte. @throws BadRequest */
  members(): Record<string, unknown> {
    return this.around.members();
  }

  /** Decodes up to the end of the text or of the piece; returns where it stopped. */
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
    this.around.isInText = false; // the quote itself is read as the end of a string
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
