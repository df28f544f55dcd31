import { isUtf8 } from 'node:buffer';
import type { FastifyReply } from 'fastify';
import { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { BadRequest, PayloadTooLarge } from '../../platform/http/index.js';
import type { OpenedContent } from './contents.js';

const PIECE_BYTES = 256 * 1024;

/**
 * A client that takes longer to read a response is disconnected, because the keys are wiped only then. Bodies have the same
 * limit.
 */
export const SEND_TIMEOUT_MS = 15 * 60_000;

/** The placeholder for the content. Quotes inside strings are escaped, so no path can contain it. */
const GAP = '"content":""';

/** Sends `{ …, content, … }`. The text is converted to JSON chunk by chunk, so a large text is never held as a single string. */
export function sendNote(
  reply: FastifyReply,
  wire: Readonly<Record<string, unknown>> & { content: '' },
  { pieces, close }: OpenedContent,
): void {
  const body = Readable.from(json(JSON.stringify(wire), pieces), { highWaterMark: 1 });
  const timer = setTimeout(() => body.destroy(), SEND_TIMEOUT_MS);
  body.once('close', () => {
    clearTimeout(timer);
    close();
  });
  // Not awaited: the keys are wiped when this returns, and a client may take minutes.
  void reply.header('content-type', 'application/json; charset=utf-8').send(body);
}

async function* json(wire: string, pieces: OpenedContent['pieces']): AsyncGenerator<string, void> {
  const at = wire.indexOf(GAP) + GAP.length - 1;
  yield wire.slice(0, at);
  const decoder = new StringDecoder('utf8'); // a character may be split across chunks
  for await (const piece of pieces)
    for (let from = 0; from < piece.length; from += PIECE_BYTES) {
      const text = decoder.write(piece.subarray(from, from + PIECE_BYTES));
      if (text !== '') yield JSON.stringify(text).slice(1, -1);
    }
  yield wire.slice(at);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const LETTER_U = 0x75;

/** The characters that a backslash escape stands for; `u` starts four hex digits. */
const ESCAPES = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }),
);

/** The next part of the current escape: nothing, the character after the backslash, or this many digits. */
type Due = 'nothing' | 'character' | 1 | 2 | 3 | 4;

/**
 * Decodes the inside of a JSON string into UTF-8 as it arrives. The text never becomes a JavaScript string: strings cannot be
 * wiped, take twice the memory, and block the event loop while they are built.
 */
export class JsonText {
  private readonly decoded: GrowingBytes;
  private due: Due = 'nothing';
  /** The value of the hex digits so far. */
  private unit = 0;
  /** The high surrogate of a pair; the low one must follow. */
  private half: number | undefined;

  /** @param limit of the decoded text, in bytes */
  constructor(limit: number) {
    this.decoded = new GrowingBytes(limit);
  }

  /** The number of bytes decoded so far. */
  get size(): number {
    return this.decoded.size;
  }

  /**
   * Decodes up to the closing quote or the end of the chunk; returns the position where it stopped.
   * @throws BadRequest, PayloadTooLarge
   */
  read(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length;) {
      if (this.due !== 'nothing') {
        this.readEscape(chunk.readUInt8(at++), this.due);
        continue;
      }
      const end = plainEnd(chunk, at);
      if (end > at) this.append(chunk, at, end);
      if (end === chunk.length || chunk[end] === QUOTE) return end;
      if (chunk[end] !== BACKSLASH) throw notJson(); // control characters must be escaped
      this.due = 'character';
      at = end + 1;
    }
    return chunk.length;
  }

  /** Returns the whole text; call it after the last byte. @throws BadRequest unless it is well-formed Unicode */
  end(): Buffer {
    const bytes = this.decoded.whole();
    if (this.half !== undefined || !isUtf8(bytes)) throw noUnicode();
    return bytes;
  }

  wipe(): void {
    this.decoded.wipe();
  }

  private readEscape(byte: number, due: Exclude<Due, 'nothing'>): void {
    if (due !== 'character') {
      this.unit = this.unit * 16 + digitIn(byte);
      this.due = due === 1 ? 'nothing' : ((due - 1) as Due);
      if (due === 1) this.appendUnit(this.unit);
    } else if (byte === LETTER_U) {
      this.unit = 0;
      this.due = 4;
    } else {
      const escaped = ESCAPES.get(String.fromCharCode(byte));
      if (escaped === undefined) throw notJson();
      this.due = 'nothing';
      this.appendCharacter(escaped);
    }
  }

  /** Appends a UTF-16 code unit. */
  private appendUnit(unit: number): void {
    const isSecondHalf = unit >= 0xdc00 && unit <= 0xdfff;
    if (isSecondHalf !== (this.half !== undefined)) throw noUnicode();
    if (unit >= 0xd800 && unit <= 0xdbff) {
      this.half = unit;
      return;
    }
    const character = this.half === undefined ? [unit] : [this.half, unit];
    this.half = undefined;
    this.appendCharacter(String.fromCharCode(...character));
  }

  private appendCharacter(character: string): void {
    if (this.half !== undefined) throw noUnicode();
    this.decoded.appendCharacter(character);
  }

  private append(chunk: Buffer, from: number, end: number): void {
    if (this.half !== undefined) throw noUnicode();
    this.decoded.append(chunk, from, end);
  }
}

/** The end of the run of unescaped characters. */
function plainEnd(chunk: Buffer, from: number): number {
  let at = from;
  for (; at < chunk.length; at++) {
    const byte = chunk[at] ?? 0;
    if (byte === QUOTE || byte === BACKSLASH || byte < SPACE) return at;
  }
  return at;
}

function digitIn(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  if (letter >= 0x61 && letter <= 0x66) return letter - 0x61 + 10;
  throw notJson();
}

function notJson(): BadRequest {
  return new BadRequest('the request body is not valid JSON');
}

function noUnicode(): BadRequest {
  return new BadRequest('the request body contains invalid Unicode');
}

const FIRST_BLOCK = 4 * 1024;
const BLOCK = 64 * 1024;
const LONGEST_CHARACTER = 4;

/**
 * UTF-8 that grows up to a limit, in blocks. A buffer that doubles would take up to twice the bytes of a slow client, and leave
 * as many for the garbage collector.
 */
export class GrowingBytes {
  size = 0;

  private readonly full: Buffer[] = [];
  private block = Buffer.allocUnsafe(FIRST_BLOCK);
  private usedOfBlock = 0;

  /** @param limit in bytes */
  constructor(private readonly limit: number) {}

  /** Appends part of a chunk. @throws PayloadTooLarge */
  append(chunk: Buffer, from: number, end: number): void {
    this.count(end - from);
    for (let at = from; at < end;) {
      if (this.usedOfBlock === this.block.length) this.addBlock();
      const copied = chunk.copy(this.block, this.usedOfBlock, at, end);
      this.usedOfBlock += copied;
      at += copied;
    }
  }

  /** Appends one character. @throws PayloadTooLarge */
  appendCharacter(character: string): void {
    this.count(Buffer.byteLength(character, 'utf8'));
    if (this.block.length - this.usedOfBlock < LONGEST_CHARACTER) this.addBlock();
    this.usedOfBlock += this.block.write(character, this.usedOfBlock, 'utf8');
  }

  /** All bytes so far, in one buffer that `wipe` wipes too. */
  whole(): Buffer {
    if (this.full.length > 0) {
      const whole = Buffer.concat([...this.full, this.lastBlock]);
      this.wipe();
      this.full.length = 0;
      this.block = whole;
      this.usedOfBlock = whole.length;
    }
    return this.lastBlock;
  }

  wipe(): void {
    for (const block of [...this.full, this.lastBlock]) block.fill(0);
  }

  private get lastBlock(): Buffer {
    return this.block.subarray(0, this.usedOfBlock);
  }

  private addBlock(): void {
    this.full.push(this.lastBlock);
    this.block = Buffer.allocUnsafe(BLOCK);
    this.usedOfBlock = 0;
  }

  private count(bytes: number): void {
    if (this.size + bytes > this.limit)
      throw new PayloadTooLarge(`the content is larger than ${this.limit} bytes`);
    this.size += bytes;
  }
}
