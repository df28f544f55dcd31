import { text } from 'node:stream/consumers';
import { BlobMissing, type S3Objects } from '../../platform/storage/index.js';
import { bytesOf } from './bucket-parts.js';
import { MARK, PlaceMark, SETTLING } from './place-mark.js';

/** The mark of a prefix in a bucket is an object. */
export class BucketMark extends PlaceMark {
  constructor(
    readonly place: string,
    private readonly objects: S3Objects,
  ) {
    super();
  }

  prepare(): Promise<void> {
    return this.objects.makeBucket();
  }

  replace(id: string): Promise<void> {
    return this.objects.put(MARK, bytesOf(id), id.length);
  }

  /** Where the store ignores the condition, the last one to write has the place, and all others read that afterwards. */
  protected async create(id: string): Promise<void> {
    if (!(await this.objects.putNew(MARK, id))) return;
    if (await this.objects.putNew(MARK, id)) await SETTLING.wait();
  }

  protected async read(): Promise<string | undefined> {
    try {
      return (await text(this.objects.read(MARK))).trim();
    } catch (error) {
      if (error instanceof BlobMissing) return undefined;
      throw error;
    }
  }
}
