import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { BlobMissing, type ByteRange } from '../blob-store.js';
import type { BoundedRequest } from './bounded-request.js';
import type { S3Connection } from './s3-connection.js';
import { S3Fault, S3Timeout } from './s3-fault.js';

/** A download fails after this many consecutive interruptions without a byte in between. */
const CUTS = 3;

/**
 * The bytes of one range. If the connection is interrupted or silent, the download resumes where it ended: reading twice is
 * harmless, and the client that waits for the rest does not notice.
 */
export class S3Download {
  /** The latest request. */
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
