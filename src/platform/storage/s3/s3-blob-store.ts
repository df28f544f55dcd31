import { Readable } from 'node:stream';
import {
  BlobMissing,
  BlobStore,
  type ByteRange,
  idsIn,
  OutcomeUnknown,
  type StoredObject,
  StoreUnavailable,
} from '../blob-store.js';
import type { S3Connection } from './s3-connection.js';
import { S3Download, S3Upload } from './s3-transfers.js';
import { S3Fault } from './s3-fault.js';

/** The minimum size of a part in S3, and the memory of an upload. */
export const LEAST_PART_BYTES = 5 * 1024 * 1024;
const MOST_PARTS = 10_000;

const PAGE = 1000;
const RETRY_SECONDS = 5;

/**
 * Stores blobs as objects in a bucket, under their keys. An object appears complete under its key or not at all; before `put`
 * resolves, its length and the hashes of its parts have been verified.
 */
export class S3BlobStore extends BlobStore {
  readonly location = 's3';
  private readonly partBytes: number;

  /**
   * @param givesMd5 whether the store's entity tags are MD5
   * @param largest maximum size of a blob in bytes
   */
  constructor(
    readonly connection: S3Connection,
    private readonly givesMd5: boolean,
    largest: number,
  ) {
    super();
    this.partBytes = Math.max(LEAST_PART_BYTES, Math.ceil(largest / MOST_PARTS));
  }

  async put(key: string, chunks: AsyncIterable<Buffer>): Promise<void> {
    const upload = new S3Upload(this.connection, checked(key), this.givesMd5);
    try {
      await upload.send(chunks, this.partBytes);
      await this.expectSize(key, upload.bytes);
    } catch (error) {
      if (upload.isStored) await this.removeAgain(key);
      throw error;
    }
  }

  async read(key: string, size: number, range?: ByteRange): Promise<Readable> {
    if (size > 0)
      return S3Download.open(this.connection, checked(key), size, range ?? { start: 0, end: size - 1 });
    const found = await this.sizeOf(key);
    if (found !== 0) throw new BlobMissing(key, new Error(`it has ${found ?? 'no'} bytes instead of 0`));
    return Readable.from([]);
  }

  /**
   * Sent only once: if a second request succeeded, the first could still arrive later, and would delete bytes that a move has
   * written to the key again. The caller retries much later.
   */
  async delete(key: string): Promise<void> {
    await this.remove(checked(key), this.connection.limits.callMs);
  }

  async sizeOf(key: string): Promise<number | undefined> {
    const object = checked(key);
    const { bucket } = this.connection;
    try {
      return (await this.connection.retried((client) => client.statObject(bucket, object))).size;
    } catch (error) {
      if (error instanceof S3Fault && error.isAbsent) return undefined;
      throw error;
    }
  }

  async *list(workspaceId?: string): AsyncGenerator<StoredObject[]> {
    const prefix = workspaceId === undefined ? '' : `${workspaceId}/`;
    for (let token: string | undefined = ''; token !== undefined;) {
      const from: string = token;
      const page = await this.connection.retried((client) =>
        client.listObjectsV2Query(this.connection.bucket, prefix, from, '', PAGE, ''),
      );
      yield page.objects.flatMap(({ name = '', size, lastModified }) =>
        // A bucket may contain unrelated objects.
        idsIn(name) && lastModified ? [{ key: name, size, modifiedAt: lastModified }] : [],
      );
      token = (page.isTruncated && page.nextContinuationToken) || undefined;
    }
  }

  /** A bucket has no directories. */
  async tidy(): Promise<void> {
    await Promise.resolve();
  }

  /** An unfinished multipart upload uses space and does not appear in listings of objects. */
  async clearDrafts(before: Date, signal?: AbortSignal): Promise<number> {
    const { bucket } = this.connection;
    let cleared = 0;
    for (let marker: string | undefined = ''; marker !== undefined && !signal?.aborted;) {
      const from: string = marker;
      const page = await this.connection.retried((client) =>
        client.listIncompleteUploadsQuery(bucket, '', from, '', ''),
      );
      for (const { key, uploadId, initiated } of page.uploads) {
        if (signal?.aborted) return cleared;
        if (initiated >= before || !idsIn(key)) continue;
        await this.connection
          .retried((client) => client.abortMultipartUpload(bucket, key, uploadId))
          .catch(ignoreAbsent);
        cleared += 1;
      }
      marker = (page.isTruncated && page.nextKeyMarker) || undefined;
    }
    return cleared;
  }

  close(): void {
    this.connection.close();
  }

  private async remove(key: string, ms: number): Promise<void> {
    await this.connection.call((client) => client.removeObject(this.connection.bucket, key), ms);
  }

  private async expectSize(key: string, bytes: number): Promise<void> {
    const found = await this.sizeOf(key);
    if (found === bytes) return;
    throw new StoreUnavailable(
      `S3: the store has ${found ?? 'none'} of the ${bytes} bytes that it accepted`,
      RETRY_SECONDS,
    );
  }

  private async removeAgain(key: string): Promise<void> {
    try {
      await this.remove(key, this.connection.limits.cleanUpMs);
    } catch (error) {
      throw new OutcomeUnknown('S3: a failed upload could not be deleted', RETRY_SECONDS, error);
    }
  }
}

function checked(key: string): string {
  if (!idsIn(key)) throw new Error('not a blob key');
  return key;
}

/** Another instance may have been faster. */
function ignoreAbsent(error: unknown): void {
  if (!(error instanceof S3Fault) || (error.code !== 'NoSuchUpload' && !error.isAbsent)) throw error;
}
