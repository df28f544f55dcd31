import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type BlobStore, type StoreLocation, StoreUnavailable } from './blob-store.js';

const RETRY_SECONDS = 60;

/** The stores of this instance: new blobs go to the main one; existing blobs are where their rows say. */
@Injectable()
export class BlobStores implements OnApplicationShutdown {
  private readonly others = new Map<StoreLocation, Promise<BlobStore>>();

  constructor(
    readonly main: BlobStore,
    private readonly open: (location: StoreLocation) => Promise<BlobStore>,
    other?: BlobStore,
    /** Whether there is also a disk store of this database besides the main one, even if no row refers to it. */
    private readonly isDiskOurs = (): Promise<boolean> => Promise.resolve(false),
  ) {
    if (other) this.others.set(other.location, Promise.resolve(other));
  }

  /**
   * The store at a location, opened on first use.
   * @throws StoreUnavailable when it cannot be opened
   */
  async at(location: StoreLocation): Promise<BlobStore> {
    if (location === this.main.location) return this.main;
    const known = this.others.get(location) ?? this.open(location);
    this.others.set(location, known);
    try {
      return await known;
    } catch (error) {
      if (this.others.get(location) === known) this.others.delete(location);
      throw new StoreUnavailable(`the ${location} store cannot be opened`, RETRY_SECONDS, error);
    }
  }

  /**
   * Every available store of this database, even if no row refers to it, as after a database was restored.
   * @throws StoreUnavailable when one cannot be opened
   */
  async all(): Promise<BlobStore[]> {
    if (await this.isDiskOurs()) await this.at('disk');
    return this.opened();
  }

  /** The stores that are open. */
  async opened(): Promise<BlobStore[]> {
    const others = await Promise.allSettled(this.others.values());
    return [this.main, ...others.flatMap((other) => (other.status === 'fulfilled' ? [other.value] : []))];
  }

  async onApplicationShutdown(): Promise<void> {
    for (const store of await this.opened()) store.close();
  }
}
