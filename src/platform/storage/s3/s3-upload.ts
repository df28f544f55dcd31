import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { OutcomeUnknown, StoreUnavailable } from '../blob-store.js';
import type { S3Call, S3Connection } from './s3-connection.js';
import { S3Fault } from './s3-fault.js';

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
