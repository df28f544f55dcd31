import { Injectable } from '@nestjs/common';
import { Log } from '../log.js';
import { blobKey, type BlobLocation, BlobStores } from './blob-store.js';

const AT_ONCE = 8;

export interface StoredBytes {
  readonly workspaceId: string;
  readonly id: string;
  readonly location: BlobLocation;
}

export interface Removal<T extends StoredBytes> {
  readonly gone: T[];
  /** Not deleted, or not known to be deleted. */
  readonly stuck: T[];
}

/** Called for each blob directly before it is deleted. */
export type MayRemove<T extends StoredBytes> = (blob: T) => boolean | Promise<boolean>;

@Injectable()
export class ByteRemover {
  constructor(
    private readonly stores: BlobStores,
    private readonly log: Log,
  ) {}

  /**
   * Deletes each blob separately, eight at a time; if eight in a row fail, the store is considered unavailable and the rest
   * counts as stuck. So do blobs for which `mayRemove` returns false.
   */
  async remove<T extends StoredBytes>(doomed: readonly T[], mayRemove: MayRemove<T>): Promise<Removal<T>> {
    const removal: Removal<T> = { gone: [], stuck: [] };
    for (let at = 0; at < doomed.length; at += AT_ONCE) {
      const some = doomed.slice(at, at + AT_ONCE);
      const isGone = await Promise.all(some.map((blob) => this.removeOne(blob, mayRemove)));
      for (const [index, blob] of some.entries()) (isGone[index] ? removal.gone : removal.stuck).push(blob);
      if (some.length === AT_ONCE && !isGone.includes(true)) {
        removal.stuck.push(...doomed.slice(at + AT_ONCE));
        break;
      }
    }
    return removal;
  }

  /** Removes what remains in the stores of a workspace after all its blobs are deleted. */
  async tidy(workspaceId: string): Promise<void> {
    await this.log.bestEffort('tidy up after a workspace', async () => {
      for (const store of await this.stores.opened()) await store.tidy(workspaceId);
    });
  }

  private async removeOne<T extends StoredBytes>(blob: T, mayRemove: MayRemove<T>): Promise<boolean> {
    const { workspaceId, id, location } = blob;
    if (location === 'inline') return true;
    const key = blobKey(workspaceId, id);
    try {
      const store = await this.stores.at(location);
      if (!(await mayRemove(blob))) return false;
      await store.delete(key);
      return true;
    } catch (err) {
      this.log.warn({ err, key, location }, 'could not remove a blob');
      return false;
    }
  }
}
