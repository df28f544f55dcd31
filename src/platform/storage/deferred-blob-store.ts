import type { Readable } from 'node:stream';
import {
  BlobStore,
  type ByteRange,
  type StoredObject,
  type StoreLocation,
  StoreUnavailable,
} from './blob-store.js';

const RETRY_SECONDS = 5;

/** A store that is opened when it is first used; while it cannot be opened, each use fails with StoreUnavailable. */
export class DeferredBlobStore extends BlobStore {
  private opening: Promise<BlobStore> | undefined;
  private opened: BlobStore | undefined;

  constructor(
    readonly location: StoreLocation,
    private readonly open: () => Promise<BlobStore>,
  ) {
    super();
  }

  async put(key: string, chunks: AsyncIterable<Buffer>): Promise<void> {
    await (await this.store()).put(key, chunks);
  }

  async read(key: string, size: number, range?: ByteRange): Promise<Readable> {
    return (await this.store()).read(key, size, range);
  }

  async delete(key: string): Promise<void> {
    await (await this.store()).delete(key);
  }

  async sizeOf(key: string): Promise<number | undefined> {
    return (await this.store()).sizeOf(key);
  }

  async *list(workspaceId?: string): AsyncIterable<StoredObject[]> {
    yield* (await this.store()).list(workspaceId);
  }

  async tidy(workspaceId: string): Promise<void> {
    await (await this.store()).tidy(workspaceId);
  }

  async clearDrafts(before: Date, signal?: AbortSignal): Promise<number> {
    return (await this.store()).clearDrafts(before, signal);
  }

  close(): void {
    this.opened?.close();
  }

  /** Concurrent callers share one attempt. @throws StoreUnavailable */
  private async store(): Promise<BlobStore> {
    if (this.opened) return this.opened;
    this.opening ??= this.open().finally(() => (this.opening = undefined));
    try {
      return (this.opened = await this.opening);
    } catch (error) {
      throw new StoreUnavailable(`the ${this.location} store cannot be opened`, RETRY_SECONDS, error);
    }
  }
}
