import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { BlobMissing, type ByteRange, OutcomeUnknown, StoreUnavailable } from '../blob-store.js';
import type { BoundedRequest, S3Call, S3Connection } from './s3-connection.js';
import { S3Fault, S3Timeout } from './s3-fault.js';

/** A download fails after this many consecutive interruptions without a byte in between. */
const CUTS = 3;

/**
 * The bytes of one range. If the connection is interrupted or silent, the download resumes where it ended: reading twice is
 * harmless, and the client that waits for the rest does not notice.
 */
export class S3Download {
  private request: BoundedRequest | undefined;
  private response: IncomingMessage | undefined;
  private hasReader = true;

  private constructor(
    private readonly connection: S3Connection,
    private readonly key: string,
    private readonly size: number,
    private readonly range: ByteRange,
  ) {}

  /** @throws BlobMissing, S3Fault */
  static async open(
    connection: S3Connection,
    key: string,
    size: number,
    range: ByteRange,
  ): Promise<Readable> {
    const download = new S3Download(connection, key, size, range);
    download.response = await download.from(range.start);
    const stream = Readable.from(download.chunks(), { objectMode: false });
    const destroy = stream._destroy.bind(stream);
    // The stream itself would wait for the generator, which may never have started, or may wait for a silent store.
    stream._destroy = (error, done) => {
      download.stop();
      destroy(error, done);
    };
    return stream;
  }

  private stop(): void {
    this.hasReader = false;
    this.request?.abandon();
    this.response?.destroy();
  }

  /** @throws S3Timeout */
  private requireReader(): void {
    if (!this.hasReader) throw new S3Timeout('the reader has disconnected');
  }

  private async *chunks(): AsyncGenerator<Buffer> {
    let position = this.range.start;
    for (let cuts = 0; position <= this.range.end;) {
      try {
        this.response ??= await this.from(position);
        this.requireReader();
        for await (const chunk of this.watched(this.response)) {
          cuts = 0;
          position += chunk.length;
          yield chunk;
        }
        if (position <= this.range.end) throw new S3Timeout('the body ended too early');
      } catch (error) {
        // A disconnected reader never sees this error; ending the stream instead would make a part look complete.
        if (!this.hasReader || error instanceof BlobMissing) throw error;
        if (++cuts === CUTS)
          throw error instanceof S3Fault ? error : new S3Fault(error, { status: undefined, wasSent: true });
      } finally {
        this.response?.destroy();
        this.response = undefined;
      }
    }
  }

  /** Fails if no data arrives for too long; a slow reader does not count. */
  private async *watched(response: IncomingMessage): AsyncGenerator<Buffer> {
    const source = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    for (;;) {
      const timer = setTimeout(
        () => response.destroy(new S3Timeout('the connection is silent')),
        this.connection.limits.idleMs,
      );
      const next = await source.next().finally(() => clearTimeout(timer));
      if (next.done) return;
      yield next.value;
    }
  }

  /** The response to a request for the rest of the range from this position, after its headers have been verified. */
  private async from(position: number): Promise<IncomingMessage> {
    const length = this.range.end + 1 - position;
    const { bucket } = this.connection;
    let answer: IncomingMessage;
    try {
      answer = (await this.connection.retried((client, request) => {
        this.requireReader();
        this.request = request;
        return client.getPartialObject(bucket, this.key, position, length);
      })) as IncomingMessage;
    } catch (error) {
      if (error instanceof S3Fault && (error.isAbsent || error.code === 'InvalidRange'))
        throw new BlobMissing(this.key, error);
      throw error;
    }
    const expected = `bytes ${position}-${this.range.end}/${this.size}`;
    const found = answer.headers['content-range'];
    if (found === expected) return answer;
    answer.destroy();
    throw new BlobMissing(
      this.key,
      new Error(`the store has ${found ?? 'no such range'} instead of ${expected}`),
    );
  }
}

/** The minimum size of a part in S3, and the memory of an upload. */
export const LEAST_PART_BYTES = 5 * 1024 * 1024;
const MOST_PARTS = 10_000;

export const partBytesFor = (largest: number): number =>
  Math.max(LEAST_PART_BYTES, Math.ceil(largest / MOST_PARTS));

interface Part {
  /** Valid until the next part is requested: all parts share one buffer. */
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

/** Splits a stream into parts of equal size; the last one has the rest, which is empty for an empty stream. */
async function* partsOf(chunks: AsyncIterable<Buffer>, size: number): AsyncGenerator<Part> {
  const part = Buffer.allocUnsafeSlow(size); // the system allocates only the pages that are written
  let filled = 0;
  for await (const chunk of chunks) {
    for (let taken = 0; taken < chunk.length;) {
      if (filled === size) {
        yield { bytes: part, isLast: false };
        filled = 0;
      }
      const copied = chunk.copy(part, filled, taken);
      filled += copied;
      taken += copied;
    }
  }
  yield { bytes: part.subarray(0, filled), isLast: true };
}

const TYPE = { 'content-type': 'application/octet-stream' };
const RETRY_SECONDS = 5;

type Answer = IncomingMessage | undefined;
interface UploadedObject {
  readonly etag: string;
}

/**
 * One upload: a small one in one request, a larger one in parts, one at a time, so that memory does not grow with the size.
 * Every request has a body with known length and hash, which the server checks; its response is checked here.
 */
export class S3Upload {
  /** Number of bytes read from the source. */
  bytes = 0;
  /** Whether the store has confirmed the object. */
  isStored = false;
  private readonly parts: { part: number; etag: string }[] = [];
  private uploadId: string | undefined;

  constructor(
    private readonly connection: S3Connection,
    private readonly key: string,
    /** Whether this store responds with the MD5 of what it has stored, as most do. */
    private readonly givesMd5: boolean,
  ) {}

  /** @throws OutcomeUnknown, StoreUnavailable, and the errors of reading the chunks */
  async send(chunks: AsyncIterable<Buffer>, partBytes: number): Promise<void> {
    try {
      for await (const { bytes, isLast } of partsOf(chunks, partBytes)) {
        this.bytes += bytes.length;
        if (isLast && this.uploadId === undefined) await this.putWhole(bytes);
        else await this.putPart(bytes);
      }
      if (this.uploadId !== undefined) await this.complete(this.uploadId);
    } catch (error) {
      if (!this.isStored && !(error instanceof OutcomeUnknown)) await this.abort();
      throw error;
    }
  }

  private async putWhole(bytes: Buffer): Promise<void> {
    const { bucket } = this.connection;
    const [{ etag }, response] = await this.create(
      async (client, request): Promise<[UploadedObject, Answer]> => [
        await client.putObject(bucket, this.key, bytes, bytes.length, { ...TYPE }),
        request.response,
      ],
    );
    this.expectMd5(bytes, etag, response);
  }

  /** May be sent twice: a part has a number, and nothing exists under the key until all parts are completed. */
  private async putPart(bytes: Buffer): Promise<void> {
    const { bucket } = this.connection;
    this.uploadId ??= await this.connection.retried((client) =>
      client.initiateNewMultipartUpload(bucket, this.key, { ...TYPE }),
    );
    const config = { bucketName: bucket, objectName: this.key, uploadID: this.uploadId };
    const part = this.parts.length + 1;
    const headers = { 'content-md5': md5(bytes).toString('base64') };
    const [{ etag }, response] = await this.connection.retried(
      async (client, request): Promise<[UploadedObject, Answer]> => [
        await client.uploadPart({ ...config, partNumber: part, headers }, bytes),
        request.response,
      ],
    );
    this.expectMd5(bytes, etag, response);
    this.parts.push({ part, etag });
  }

  private async complete(uploadId: string): Promise<void> {
    const { bucket } = this.connection;
    await this.create((client) => client.completeMultipartUpload(bucket, this.key, uploadId, this.parts));
  }

  /**
   * The request that creates the object is never repeated: the first one could arrive after the object has been deleted again,
   * and leave bytes that no row refers to.
   */
  private async create<T>(work: S3Call<T>): Promise<T> {
    try {
      const answer = await this.connection.call(work);
      this.isStored = true;
      return answer;
    } catch (error) {
      if (!(error instanceof S3Fault) || error.isUndone) throw error;
      throw new OutcomeUnknown(error.message, error.retryAfterSeconds, error);
    }
  }

  /** Best effort: `clearDrafts` finds what this misses. */
  private async abort(): Promise<void> {
    const { uploadId } = this;
    if (uploadId === undefined) return;
    const { bucket } = this.connection;
    await this.connection
      .call(
        (client) => client.abortMultipartUpload(bucket, this.key, uploadId),
        this.connection.limits.cleanUpMs,
      )
      .catch(() => undefined);
  }

  private expectMd5(bytes: Buffer, etag: string, response: Answer): void {
    // With a customer-managed encryption key, the entity tag is not an MD5.
    const encryption = String(response?.headers['x-amz-server-side-encryption'] ?? '');
    if (!this.givesMd5 || encryption.startsWith('aws:') || etag === md5(bytes).toString('hex')) return;
    throw new StoreUnavailable('S3: the store has stored different bytes than it received', RETRY_SECONDS);
  }
}

/** Not for security: S3 checks MD5 and responds with it. */
export function md5(bytes: Buffer | string): Buffer {
  return createHash('md5').update(bytes).digest();
}
