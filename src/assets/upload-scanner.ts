import { BadRequest, parseJsonObject, PayloadTooLarge } from '../platform/http/index.js';
import { Base64Decoder, notBase64 } from './base64-decoder.js';

/** What stands around `data`: names, the token, members that the route does not offer. */
const MAX_KEPT = 64 * 1024;

/** Members that may not come twice: what was decided on the first would not hold for the second. */
const ONCE = new Set(['encryptedFilename', 'data']);

/** JSON may write any character so; of base64's own, encoders do it to the slash and the equals sign. */
const ESCAPE = /\\(?:\/|u([0-9a-fA-F]{4}))/g;
const BROKEN_OFF_ESCAPE = /\\(?:u[0-9a-fA-F]{0,3})?$/;

/**
 * Takes a JSON object apart as it comes. The text of its member `data` is decoded at once and forgotten; all the rest
 * is kept, with an empty text for `data`, and parsed as any other body: with a text of base64 in it, it is JSON
 * exactly when it is JSON without. Texts are latin1 here, a character per byte, until they are parsed.
 */
export class UploadScanner {
  /** Whether the text of `data` has begun, or gone by. */
  hasData = false;

  private readonly decoder = new Base64Decoder();
  private readonly seen = new Set<string>();
  private isInData = false;
  /** The start of an escape in which the last piece of `data` ended. */
  private brokenOff = '';

  private kept = '';
  /** How much of it stands before the text of `data`. */
  private keptBefore = 0;
  private depth = 0;
  private isInString = false;
  private isEscaped = false;
  private stringStart = 0;
  /** The last text at the top level, which is a name if a colon follows. */
  private lastText = '';
  /** The member at the top level whose value is due; undefined where a name is. */
  private member: string | undefined;

  /** The bytes of the envelope in the next piece of the body. @throws BadRequest, PayloadTooLarge */
  feed(chunk: Buffer): Buffer {
    const text = chunk.toString('latin1');
    const decoded: Buffer[] = [];
    for (let at = 0; at < text.length;) {
      if (this.isInData) at = this.readData(text, at, decoded);
      else this.readAround(text.charAt(at++));
    }
    return Buffer.concat(decoded);
  }

  /** The members before `data`, once that has begun. @throws BadRequest */
  membersBefore(): Record<string, unknown> {
    return parseJsonObject(Buffer.from(`${this.kept.slice(0, this.keptBefore)}"}`, 'latin1'));
  }

  /** All members, after the last byte. @throws BadRequest */
  members(): Record<string, unknown> {
    return parseJsonObject(Buffer.from(this.kept, 'latin1'));
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
    this.isInData = false; // the quote itself is read as the end of a string
  }

  private readAround(char: string): void {
    if (this.kept.length === MAX_KEPT)
      throw new PayloadTooLarge(`the request body has more than ${MAX_KEPT} bytes beside data`);
    this.kept += char;
    if (this.isInString) this.readString(char);
    else if (char === '"') this.beginString();
    else if (char === '{' || char === '[') this.depth++;
    else if (char === '}' || char === ']') this.depth--;
    else if (char === ':' && this.depth === 1) this.beginMember();
    else if (char === ',' && this.depth === 1) this.member = undefined;
  }

  private readString(char: string): void {
    if (this.isEscaped) this.isEscaped = false;
    else if (char === '\\') this.isEscaped = true;
    else if (char === '"') {
      this.isInString = false;
      if (this.depth === 1) this.lastText = this.kept.slice(this.stringStart);
    }
  }

  private beginString(): void {
    this.isInString = true;
    this.stringStart = this.kept.length - 1;
    if (this.depth !== 1 || this.member !== 'data') return;
    this.isInData = true;
    this.hasData = true;
    this.keptBefore = this.kept.length;
  }

  private beginMember(): void {
    this.member = nameIn(this.lastText);
    if (ONCE.has(this.member) && this.seen.has(this.member))
      throw new BadRequest(`${this.member} must be there once`);
    this.seen.add(this.member);
  }
}

function unescaped(text: string): string {
  return text.replace(ESCAPE, (_, code: string | undefined) =>
    code === undefined ? '/' : String.fromCharCode(parseInt(code, 16)),
  );
}

/** A name may be escaped too. */
function nameIn(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    throw new BadRequest('the request body is not valid JSON');
  }
}
