import { BadRequest, PayloadTooLarge } from '../../platform/http/index.js';
import type { FairSemaphore } from '../../platform/limits/index.js';
import { NEW_ASSET_TOKEN, NEW_ASSET_TOKEN_RULE } from './asset-headers.js';
import { notBase64, UploadScanner } from './upload-scanner.js';

const MIB = 1024 * 1024;

/** The encryption overhead, which is the envelope size of an empty file. */
const MIN_ENVELOPE_BYTES = 61;
const MAX_ENVELOPE_BYTES = 25 * MIB + MIN_ENVELOPE_BYTES;

/** The largest envelope in base64, plus the size limit of any other JSON body for the rest. */
export const UPLOAD_BODY_LIMIT = Math.ceil(MAX_ENVELOPE_BYTES / 3) * 4 + MIB;

/** One byte too many needs no more base64 than none; beyond that, the body is longer than any valid upload. */
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

  /**
   * The bytes of the envelope, to be read once, after `open`. They end without an error only if the whole body is
   * valid.
   */
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
