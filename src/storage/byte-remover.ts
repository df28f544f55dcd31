import { Injectable } from '@nestjs/common';
import { Log } from '../platform/log/index.js';
import { blobKey, type BlobLocation } from './blob-store.js';
import { BlobStores } from './blob-stores.js';

const AT_ONCE = 8;

/** A blob whose bytes are to be removed. */
export interface StoredBytes {
  readonly workspaceId: string;
  readonly id: string;
  readonly location: BlobLocation;
}

export interface Removal<T extends StoredBytes> {
  readonly gone: T[];
  /** Not removed, or not known to be. */
  readonly stuck: T[];
}

/** Asked of each blob directly before it is removed. */
export type MayGo<T extends StoredBytes> = (blob: T) => boolean | Promise<boolean>;

/** Removes bytes from the stores that have them. */
@Injectable()
export class ByteRemover {
  constructor(
    private readonly stores: BlobStores,
    private readonly log: Log,
  ) {}

  /**
   * Each on its own, eight at a time; when eight in a row fail, the store is away and the others wait as well. What may
   * not go is stuck.
   */
  async remove<T extends StoredBytes>(doomed: readonly T[], mayGo: MayGo<T>): Promise<Removal<T>> {
    const removal: Removal<T> = { gone: [], stuck: [] };
    for (let at = 0; at < doomed.length; at += AT_ONCE) {
      const some = doomed.slice(at, at + AT_ONCE);
      const isGone = await Promise.all(some.map((blob) => this.removeOne(blob, mayGo)));
      for (const [index, blob] of some.entries()) (isGone[index] ? removal.gone : removal.stuck).push(blob);
      if (some.length === AT_ONCE && !isGone.includes(true)) {
        removal.stuck.push(...doomed.slice(at + AT_ONCE));
        break;
      }
    }
    return removal;
  }

  /** What a workspace whose blobs are all gone leaves behind in the stores. */
  async tidy(workspaceId: string): Promise<void> {
    await this.log.bestEffort('tidy up after a workspace', async () => {
      for (const store of await this.stores.opened()) await store.tidy(workspaceId);
    });
  }

  private async removeOne<T extends StoredBytes>(blob: T, mayGo: MayGo<T>): Promise<boolean> {
    const { workspaceId, id, location } = blob;
    if (location === 'inline') return true;
    const key = blobKey(workspaceId, id);
    try {
      const store = await this.stores.at(location);
      if (!(await mayGo(blob))) return false;
      await store.delete(key);
      return true;
    } catch (err) {
      this.log.warn({ err, key, location }, 'could not remove a blob');
      return false;
    }
  }
}
