import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { BlobMissing, type S3Objects } from '../storage/index.js';
import { bytesOf } from './bucket-parts.js';
import { MARK, PlaceMark } from './place-mark.js';

/**
 * How long a mark waits in a store that ignores the condition of a request: whoever has found no mark before it was written writes
 * another one within this time. Tests replace it.
 */
export const SETTLING = { wait: (): Promise<void> => pause(5_000) };

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
