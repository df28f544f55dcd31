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
import { partBytesFor, S3Download, S3Upload } from './s3-transfers.js';

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
    this.partBytes = partBytesFor(largest);
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
    return await this.connection.sizeOf(checked(key));
  }

  async *list(workspaceId?: string): AsyncGenerator<StoredObject[]> {
    for await (const page of this.connection.list(workspaceId === undefined ? '' : `${workspaceId}/`))
      yield page.flatMap(({ name = '', size, lastModified }) =>
        // A bucket may contain unrelated objects.
        idsIn(name) && lastModified ? [{ key: name, size, modifiedAt: lastModified }] : [],
      );
  }

  /** A bucket has no directories. */
  async tidy(): Promise<void> {
    await Promise.resolve();
  }

  async clearDrafts(before: Date, signal?: AbortSignal): Promise<number> {
    let cleared = 0;
    if (signal?.aborted) return cleared;
    for await (const upload of this.connection.uploads('')) {
      if (signal?.aborted) break;
      if (upload.initiated >= before || !idsIn(upload.key)) continue;
      await this.connection.abortUpload(upload);
      cleared += 1;
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
