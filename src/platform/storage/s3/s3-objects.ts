import { Readable } from 'node:stream';
import { type BackupStore, OperatorError, type S3Address } from '../../config/index.js';
import { BlobMissing, StoreUnavailable } from '../blob-store.js';
import { explained } from './open-s3-store.js';
import { PatientS3Connection } from './s3-connection.js';
import { partBytesFor, S3Download, S3Upload } from './s3-transfers.js';
import { S3Fault } from './s3-fault.js';

/** For objects of unknown size, which can then have up to 312 GiB. */
const PART_BYTES = 32 * 2 ** 20;
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

  async makeBucket(): Promise<void> {
    await this.told(() => this.connection.makeBucket());
  }

  /**
   * Stores an object: complete when this resolves, absent when reading the chunks fails.
   * @param size in bytes, if known
   * @throws also the errors of reading the chunks
   */
  async put(path: string, chunks: AsyncIterable<Buffer>, size?: number): Promise<void> {
    const partBytes = size === undefined ? PART_BYTES : partBytesFor(size);
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
  sizeOf(path: string): Promise<number | undefined> {
    return this.told(() => this.connection.sizeOf(this.prefix + path));
  }

  /** The first segment of each path, up to the first slash. */
  async names(): Promise<string[]> {
    const names: string[] = [];
    await this.told(async () => {
      for await (const page of this.connection.list(this.prefix, '/'))
        for (const { prefix } of page) if (prefix) names.push(prefix.slice(this.prefix.length, -1));
    });
    return names;
  }

  isEmpty(): Promise<boolean> {
    return this.told(async () => {
      for await (const page of this.connection.list(this.prefix)) if (page.length > 0) return false;
      return true;
    });
  }

  /** Removes one object, or does nothing when it does not exist. */
  async remove(path: string): Promise<void> {
    await this.told(() => this.removeKey(this.prefix + path));
  }

  /** Removes all objects, including those written in the meantime, and unfinished uploads. */
  async removeAll(): Promise<void> {
    await this.told(async () => {
      for await (const upload of this.connection.uploads(this.prefix))
        await this.connection.abortUpload(upload);
      for (let found = 1; found > 0;) {
        found = 0;
        for await (const page of this.connection.list(this.prefix)) {
          const keys = page.flatMap(({ name }) => name ?? []);
          found += keys.length;
          for (let from = 0; from < keys.length; from += REMOVED_AT_ONCE)
            await Promise.all(keys.slice(from, from + REMOVED_AT_ONCE).map((key) => this.removeKey(key)));
        }
      }
    });
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

  private async removeKey(key: string): Promise<void> {
    await this.connection.retried((client) => client.removeObject(this.bucket, key));
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
