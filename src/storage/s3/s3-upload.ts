import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { OutcomeUnknown, StoreUnavailable } from '../blob-store.js';
import type { S3Call, S3Connection } from './s3-connection.js';
import { S3Fault } from './s3-fault.js';

interface Part {
  /** Valid until the next part is asked for: all parts share one buffer. */
  readonly bytes: Buffer;
  readonly isLast: boolean;
}

/** Cuts a stream into parts of one size; the last one has what is left, which is nothing for an empty stream. */
async function* partsOf(chunks: AsyncIterable<Buffer>, size: number): AsyncGenerator<Part> {
  const part = Buffer.allocUnsafeSlow(size); // of which the system gives only what is written to
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
 * One upload: small ones in one request, larger ones in parts, one at a time, so that memory does not grow with the
 * size. Every request has a body of known length and hash, which the server checks; what it then says it has is
 * checked here.
 */
export class S3Upload {
  /** That have been taken from the source. */
  bytes = 0;
  /** Whether the store has said that it has the object. */
  isStored = false;
  private readonly parts: { part: number; etag: string }[] = [];
  private uploadId: string | undefined;

  constructor(
    private readonly connection: S3Connection,
    private readonly key: string,
    /** Whether this store answers with the MD5 of what it has stored, as most do. */
    private readonly givesMd5: boolean,
  ) {}

  /** @throws OutcomeUnknown, StoreUnavailable, and what reading the chunks throws */
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

  /** May be sent twice: a part has its number, and nothing is under the key before all are put together. */
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
   * The request that makes the object is never repeated: the first one could arrive after the object has been removed
   * again, and leave bytes that no row names.
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

  /** Best effort: what it misses, `clearDrafts` finds. */
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
    // A key of the operator's own makes the tag something else.
    const encryption = String(response?.headers['x-amz-server-side-encryption'] ?? '');
    if (!this.givesMd5 || encryption.startsWith('aws:') || etag === md5(bytes).toString('hex')) return;
    throw new StoreUnavailable('S3: it has stored something else than it was sent', RETRY_SECONDS);
  }
}

/** Not for secrecy: it is what S3 checks and answers with. */
export function md5(bytes: Buffer | string): Buffer {
  return createHash('md5').update(bytes).digest();
}
