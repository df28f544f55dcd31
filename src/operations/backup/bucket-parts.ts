import { OperatorError } from '../../platform/config/index.js';
import { BlobMissing, type S3Objects } from '../../platform/storage/index.js';
import { BackupParts } from './backup-parts.js';

/** Written first and removed first. */
export const BEGUN = 'begun';

/** One backup below a prefix of a bucket, streamed there as it is made. */
export class BucketParts extends BackupParts {
  constructor(
    readonly name: string,
    private readonly objects: S3Objects,
  ) {
    super();
  }

  async begin(): Promise<void> {
    await this.objects.makeBucket();
    if (!(await this.objects.isEmpty()))
      throw new OperatorError(`${this.name} is not empty; a backup needs a prefix of its own.`);
    await this.objects.put(BEGUN, bytesOf(''), 0);
  }

  write(path: string, chunks: AsyncIterable<Buffer>, size?: number): Promise<void> {
    return this.objects.put(path, chunks, size);
  }

  /** A run that has lost its lock may be working on a draft that another one has removed, or is removing. */
  async complete(path: string, text: string): Promise<void> {
    if ((await this.objects.sizeOf(BEGUN)) === undefined)
      throw new OperatorError(`${this.name} has been removed meanwhile.`);
    await this.objects.put(path, bytesOf(text), Buffer.byteLength(text));
  }

  async *read(path: string): AsyncGenerator<Buffer, void> {
    try {
      yield* this.objects.read(path);
    } catch (error) {
      if (!(error instanceof BlobMissing)) throw error;
      throw Object.assign(new Error(error.message), { code: 'NoSuchKey' });
    }
  }

  close(): void {
    this.objects.close();
  }
}

/** A text as a stream. */
export async function* bytesOf(text: string): AsyncGenerator<Buffer, void> {
  await Promise.resolve();
  if (text) yield Buffer.from(text);
}
