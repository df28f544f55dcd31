import { Readable } from 'node:stream';
import { type BackupStore, OperatorError, type S3Address } from '../../config/index.js';
import { BlobMissing, StoreUnavailable } from '../blob-store.js';
import { explained } from './open-s3-store.js';
import { PatientS3Connection } from './s3-connection.js';
import { S3Download, S3Upload } from './s3-transfers.js';
import { S3Fault } from './s3-fault.js';

const LEAST_PART_BYTES = 5 * 2 ** 20;
/** For objects of unknown size, which can then have up to 312 GiB. */
const PART_BYTES = 32 * 2 ** 20;
const MOST_PARTS = 10_000;

const PAGE = 1000;
const REMOVED_AT_ONCE = 8;

/**
 * Objects below a prefix of a bucket, under paths that are each written by one process and never again with other bytes. All
 * requests are repeated while the store is briefly unavailable.
 * @throws OperatorError, from every method, when the store fails or refuses a request
 */
export class S3Objects {
  private constructor(
    private readonly store: BackupStore,
    private readonly connection: PatientS3Connection,
    /** Empty, or ends with a slash. */
    private readonly prefix: string,
  ) {}

  static at(store: BackupStore, { bucket, prefix }: S3Address): S3Objects {
    return new S3Objects(store, new PatientS3Connection({ ...store, bucket }), prefix && `${prefix}/`);
  }

  /** The objects below a path, over the same connection. */
  below(path: string): S3Objects {
    return new S3Objects(this.store, this.connection, `${this.prefix}${path}/`);
  }

  /** Creates the bucket if it does not exist. */
  async makeBucket(): Promise<void> {
    const { connection, bucket } = this;
    await this.told(async () => {
      if (await connection.retried((client) => client.bucketExists(bucket))) return;
      await connection
        .retried((client) => client.makeBucket(bucket, this.store.region))
        .catch(unless('BucketAlreadyOwnedByYou'));
    });
  }

  /**
   * Stores an object: complete when this resolves, absent when reading the chunks fails.
   * @param size in bytes, if known
   * @throws also the errors of reading the chunks
   */
  async put(path: string, chunks: AsyncIterable<Buffer>, size?: number): Promise<void> {
    const partBytes =
      size === undefined ? PART_BYTES : Math.max(LEAST_PART_BYTES, Math.ceil(size / MOST_PARTS));
    const upload = new S3Upload(this.connection, this.prefix + path, false);
    await this.told(async () => {
      let fault: Error | undefined;
      try {
        await upload.send(chunks, partBytes);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        fault = error; // the object may be stored nevertheless, such as when an earlier attempt has succeeded
      }
      const found = await this.sizeOf(path);
      if (found === upload.bytes) return;
      throw fault ?? new OperatorError(`${this.subject} has ${found ?? 'none'} of ${upload.bytes} bytes.`);
    });
  }

  /**
   * Stores a short text unless the object exists already.
   * @returns false when the store reports that it exists; a store without conditional writes replaces it, and this returns true
   */
  async putNew(path: string, text: string): Promise<boolean> {
    const { connection, bucket } = this;
    const key = this.prefix + path;
    const put = (headers: Record<string, string>): Promise<unknown> =>
      connection.retried((client) => client.putObject(bucket, key, text, text.length, headers));
    return this.told(async () => {
      try {
        await put({ 'if-none-match': '*' });
      } catch (error) {
        if (!(error instanceof S3Fault)) throw error;
        if (['PreconditionFailed', 'ConditionalRequestConflict'].includes(error.code)) return false;
        if (error.code !== 'NotImplemented') throw error;
        await put({});
      }
      return true;
    });
  }

  /** Opened on first read. @throws BlobMissing when it does not exist */
  async *read(path: string): AsyncGenerator<Buffer, void> {
    const size = await this.sizeOf(path);
    if (size === undefined) throw new BlobMissing(path);
    if (size === 0) return;
    let source: Readable | undefined;
    try {
      source = await S3Download.open(this.connection, this.prefix + path, size, { start: 0, end: size - 1 });
      for await (const chunk of source) yield chunk as Buffer;
    } catch (error) {
      throw error instanceof S3Fault ? this.asSentence(error) : error;
    } finally {
      source?.destroy();
    }
  }

  /** In bytes; undefined when it does not exist. */
  async sizeOf(path: string): Promise<number | undefined> {
    const { connection, bucket, prefix } = this;
    try {
      const found = await this.told(() =>
        connection.retried((client) => client.statObject(bucket, prefix + path)),
      );
      return found.size;
    } catch (error) {
      const { cause } = error as Error;
      if (cause instanceof S3Fault && cause.isAbsent) return undefined;
      throw error;
    }
  }

  /** The first segment of each path, up to the first slash. */
  async names(): Promise<string[]> {
    const names: string[] = [];
    for await (const { folders } of this.pages('/'))
      names.push(...folders.map((folder) => folder.slice(this.prefix.length, -1)));
    return names;
  }

  async isEmpty(): Promise<boolean> {
    for await (const { keys } of this.pages('')) if (keys.length > 0) return false;
    return true;
  }

  /** Removes one object, or does nothing when it does not exist. */
  remove(path: string): Promise<void> {
    return this.removeKey(this.prefix + path);
  }

  /** Removes all objects, including those written in the meantime, and unfinished uploads. */
  async removeAll(): Promise<void> {
    await this.abortUploads(this.prefix);
    for (let found = 1; found > 0;) {
      found = 0;
      for await (const { keys } of this.pages('')) {
        found += keys.length;
        for (let from = 0; from < keys.length; from += REMOVED_AT_ONCE)
          await Promise.all(keys.slice(from, from + REMOVED_AT_ONCE).map((key) => this.removeKey(key)));
      }
    }
  }

  close(): void {
    this.connection.close();
  }

  private get bucket(): string {
    return this.connection.bucket;
  }

  private get subject(): string {
    return `The S3 store at ${this.connection.host}`;
  }

  private async *pages(
    delimiter: string,
  ): AsyncGenerator<{ readonly keys: string[]; readonly folders: string[] }> {
    const { connection, bucket } = this;
    for (let token: string | undefined = ''; token !== undefined;) {
      const from: string = token;
      const page = await this.told(() =>
        connection.retried((client) =>
          client.listObjectsV2Query(bucket, this.prefix, from, delimiter, PAGE, ''),
        ),
      );
      const keys = page.objects.flatMap(({ name }) => name ?? []);
      yield { keys, folders: page.objects.flatMap(({ prefix }) => prefix ?? []) };
      token = (page.isTruncated && page.nextContinuationToken) || undefined;
    }
  }

  private async removeKey(key: string): Promise<void> {
    const { connection, bucket } = this;
    await this.told(() => connection.retried((client) => client.removeObject(bucket, key)));
  }

  private async abortUploads(prefix: string): Promise<void> {
    const { connection, bucket } = this;
    await this.told(async () => {
      for (let marker: string | undefined = ''; marker !== undefined;) {
        const from: string = marker;
        const page = await connection.retried((client) =>
          client.listIncompleteUploadsQuery(bucket, prefix, from, '', ''),
        );
        for (const { key, uploadId } of page.uploads)
          await connection
            .retried((client) => client.abortMultipartUpload(bucket, key, uploadId))
            .catch(unless('NoSuchUpload'));
        marker = (page.isTruncated && page.nextKeyMarker) || undefined;
      }
    });
  }

  /** Turns faults of this store, but not of another, into messages for the operator. */
  private async told<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const fault = error instanceof S3Fault ? error : (error as Error).cause;
      throw fault instanceof S3Fault && this.connection.isOwn(fault) ? this.asSentence(fault) : error;
    }
  }

  private asSentence(fault: S3Fault): OperatorError {
    if (fault.code === 'NoSuchBucket') {
      const sentence = `${this.subject} has no bucket ${this.bucket}; check its name, or make a backup, which creates it.`;
      return new OperatorError(sentence, { cause: fault });
    }
    const { message } = explained(fault, this.connection);
    const names = message.replaceAll('S3_BUCKET', 'BACKUP_DIR');
    return new OperatorError(this.store.isOwn ? names.replace(/\bS3_(?=[A-Z])/g, 'BACKUP_S3_') : names, {
      cause: fault,
    });
  }
}

/** Another process may have been faster, or an earlier attempt of this one. */
function unless(code: string): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof S3Fault) || (error.code !== code && !error.isAbsent)) throw error;
  };
}
