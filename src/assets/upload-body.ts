import { BadRequest, PayloadTooLarge } from '../platform/http/index.js';
import type { FairSemaphore } from '../platform/limits/index.js';
import { NEW_ASSET_TOKEN, NEW_ASSET_TOKEN_RULE } from './asset-headers.js';
import { notBase64, UploadScanner } from './upload-scanner.js';

const MIB = 1024 * 1024;

/** What encryption adds to the smallest file, which is empty. */
const MIN_ENVELOPE_BYTES = 61;
const MAX_ENVELOPE_BYTES = 25 * MIB + MIN_ENVELOPE_BYTES;

/** The largest envelope in base64, with as much around it as any other JSON body may have. */
export const UPLOAD_BODY_LIMIT = Math.ceil(MAX_ENVELOPE_BYTES / 3) * 4 + MIB;

/** One byte too many takes no more base64 than none; beyond, the body is longer than any upload needs. */
const SAME_LENGTH = 1;

/**
 * The body of an upload, `{ encryptedFilename, data }`, decoded while it comes: at no time is more of it in memory than
 * a piece. Whatever is wrong with it, whoever reads on gets it as a BadRequest. To be closed in any case.
 */
export class UploadBody {
  private readonly scanner = new UploadScanner();
  private readonly chunks: AsyncIterator<Buffer>;
  private readonly decoded: AsyncGenerator<Buffer, void>;
  private first: Buffer | undefined;
  private size = 0;

  /** @param slots for decoding, taken by its owner a piece at a time */
  constructor(
    chunks: AsyncIterable<Buffer>,
    private readonly slots: FairSemaphore,
    private readonly ownerId: string,
  ) {
    this.chunks = chunks[Symbol.asyncIterator]();
    this.decoded = this.decode();
  }

  /** Reads to where `data` begins. The token if it stands before that; what comes behind is known in the end. */
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

  /** The bytes of the envelope, to be read once, after `open`. They end only if all of the body is in order. */
  envelope(): AsyncIterable<Buffer> {
    return this.decoded;
  }

  /** Reads the rest and finds out whether it is in order; instead of `envelope`. */
  async skip(): Promise<void> {
    while (!(await this.decoded.next()).done);
  }

  /** The asset token; after the last byte of the envelope. */
  encryptedFilename(): string {
    return tokenOf(this.scanner.members().encryptedFilename);
  }

  /** Gives back what is held, however far the body was read; what is left of it can be discarded by others then. */
  close(): void {
    // Not awaited: whoever reads ahead would make this wait for the client.
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
        yield this.counted(this.scanner.feed(next.value)); // held until the reader has dealt with it
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
  return new BadRequest(`data must hold ${MIN_ENVELOPE_BYTES} to ${MAX_ENVELOPE_BYTES} bytes`);
}
