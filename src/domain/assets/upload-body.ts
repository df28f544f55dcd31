import { Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import {
  BadRequest,
  bodyChunks,
  fromRequest,
  JsonAroundText,
  PayloadTooLarge,
} from '../../platform/http/index.js';
import { type FairLimits, type FairSemaphore, Queues } from '../../platform/limits/index.js';
import { Blobs, FreeSpace } from '../../platform/storage/index.js';

/** Base64url without padding, opaque, compared exactly. */
export const ASSET_TOKEN = /^[A-Za-z0-9_-]{1,1024}$/;
export const ASSET_TOKEN_RULE = 'must be 1 to 1024 base64url characters';

/**
 * A valid token for a new asset: excludes names whose download URL belongs to another route. An older asset with such
 * a token can still be renamed and deleted.
 */
export const NEW_ASSET_TOKEN = /^(?!(?:list|usage)$)[A-Za-z0-9_-]{1,1024}$/;
export const NEW_ASSET_TOKEN_RULE = `${ASSET_TOKEN_RULE}, and neither list nor usage`;

/** 1–128 visible ASCII characters. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,128}$/;

/** The `:token` parameter of the route. */
export const AssetToken = fromRequest(({ params }) => {
  const { token } = params as { token: string };
  if (!ASSET_TOKEN.test(token)) throw new BadRequest(`the asset token ${ASSET_TOKEN_RULE}`);
  return token;
});

/** `Idempotency-Key`, or null when absent. */
export const IdempotencyKey = fromRequest(({ headers }) => {
  const key = headers['idempotency-key'];
  if (key === undefined) return null;
  if (typeof key === 'string' && IDEMPOTENCY_KEY.test(key)) return key;
  throw new BadRequest('Idempotency-Key must be 1 to 128 visible ASCII characters');
});

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

const MIB = 1024 * 1024;

/** The encryption overhead, which is the envelope size of an empty file. */
const MIN_ENVELOPE_BYTES = 61;
const MAX_ENVELOPE_BYTES = 25 * MIB + MIN_ENVELOPE_BYTES;

/** The largest envelope in base64, plus the size limit of any other JSON body for the rest. */
export const UPLOAD_BODY_LIMIT = Math.ceil(MAX_ENVELOPE_BYTES / 3) * 4 + MIB;

/** An envelope one byte too large is as long in base64 as the largest valid one; a larger one makes the body too long. */
const SAME_LENGTH = 1;

/**
 * The body of an upload, `{ encryptedFilename, data }`, decoded as a stream: memory never holds more than one chunk
 * of it. Any error in it surfaces as a BadRequest to the reader. Always close it.
 */
export class UploadBody {
  private readonly scanner = new UploadScanner();
  private readonly chunks: AsyncIterator<Buffer>;
  private readonly decoded: AsyncGenerator<Buffer, void>;
  private first: Buffer | undefined;
  private size = 0;

  /** @param slots decoding slots, taken by the owner one chunk at a time */
  constructor(
    chunks: AsyncIterable<Buffer>,
    private readonly slots: FairSemaphore,
    private readonly ownerId: string,
  ) {
    this.chunks = chunks[Symbol.asyncIterator]();
    this.decoded = this.decode();
  }

  /** Reads up to the start of `data`. Returns the token if it precedes `data`; otherwise it is known only at the end. */
  async open(): Promise<string | undefined> {
    while (!this.scanner.hasData) {
      const next = await this.chunks.next();
      if (next.done) return undefined;
      const giveBack = await this.slots.take(this.ownerId);
      try {
        this.first = this.scanner.feed(next.value);
      } finally {
        giveBack();
      }
    }
    const { encryptedFilename } = this.scanner.membersBefore();
    return encryptedFilename === undefined ? undefined : tokenOf(encryptedFilename);
  }

  /** The bytes of the envelope, to be read once, after `open`. They end without an error only if the whole body is valid. */
  envelope(): AsyncIterable<Buffer> {
    return this.decoded;
  }

  /** Reads and validates the rest of the body; an alternative to `envelope`. */
  async skip(): Promise<void> {
    while (!(await this.decoded.next()).done);
  }

  /** The asset token; available after the last byte of the envelope. */
  encryptedFilename(): string {
    return tokenOf(this.scanner.members().encryptedFilename);
  }

  /** Releases all resources, however much of the body was read; other code may then discard the rest. */
  close(): void {
    // Not awaited: a pending read would make this wait for the client.
    void this.end().catch(() => undefined);
  }

  private async end(): Promise<void> {
    await this.decoded.return();
    await this.chunks.return?.();
  }

  private async *decode(): AsyncGenerator<Buffer, void> {
    if (this.first) yield this.counted(this.first);
    for (let next = await this.chunks.next(); !next.done; next = await this.chunks.next()) {
      const giveBack = await this.slots.take(this.ownerId);
      try {
        yield this.counted(this.scanner.feed(next.value)); // the slot is held until the reader has processed the chunk
      } finally {
        giveBack();
      }
    }
    this.expectWhole();
  }

  private counted(bytes: Buffer): Buffer {
    this.size += bytes.length;
    if (this.size > MAX_ENVELOPE_BYTES + SAME_LENGTH) throw new PayloadTooLarge('the envelope is too large');
    if (this.size > MAX_ENVELOPE_BYTES) throw wrongSize();
    return bytes;
  }

  private expectWhole(): void {
    this.encryptedFilename();
    if (!this.scanner.hasData) throw notBase64();
    if (this.size < MIN_ENVELOPE_BYTES) throw wrongSize();
  }
}

function tokenOf(value: unknown): string {
  if (typeof value === 'string' && NEW_ASSET_TOKEN.test(value)) return value;
  throw new BadRequest(`encryptedFilename ${NEW_ASSET_TOKEN_RULE}`);
}

function wrongSize(): BadRequest {
  return new BadRequest(`data must decode to ${MIN_ENVELOPE_BYTES} to ${MAX_ENVELOPE_BYTES} bytes`);
}

/**
 * Limits how many uploads are decoded concurrently, a chunk at a time. Between two chunks an upload holds no slot, so
 * a slow client blocks no one. Other uploads wait, and so do their clients, because their bytes are not read. The
 * waiting uploads of one user are limited to the number of concurrent requests per user.
 */
export const DECODING: FairLimits = {
  atOnce: 4,
  waiting: 512,
  perOwner: { atOnce: 3, waiting: 250 },
  waitMs: 10_000,
  busy: 'too many assets are being uploaded',
};

/** Provides the bodies of uploads for the duration of the upload. */
@Injectable()
export class UploadBodies {
  private readonly slots: FairSemaphore;

  constructor(
    private readonly space: FreeSpace,
    private readonly blobs: Blobs,
    queues: Queues,
  ) {
    this.slots = queues.open('asset_pieces', DECODING);
  }

  /** @throws NoRoom, before anything is read, when the disk has no room for uploads; and whatever `use` throws */
  lend<T>(request: IncomingMessage, userId: string, use: (body: UploadBody) => Promise<T>): Promise<T> {
    const held = (received: number): number => this.blobs.heldOf(received);
    return this.space.during((place) =>
      use(new UploadBody(bodyChunks(request, UPLOAD_BODY_LIMIT, { place, held }), this.slots, userId)),
    );
  }
}
