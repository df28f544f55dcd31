import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Readable } from 'node:stream';
import { shared } from '../async.js';

/** Byte positions, both inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export type BlobLocation = 'inline' | StoreLocation;

/** The locations outside the database. */
export type StoreLocation = 'disk' | 's3';

/**
 * Bytes that should be in the store but are missing or incomplete: a separate class, so that it is never mistaken for an
 * absent file.
 */
export class BlobMissing extends Error {
  constructor(key: string, cause?: unknown) {
    super(`the bytes of blob ${key} are missing from the store`, { cause });
  }
}

/** The store does not work at the moment. The request may be retried; nothing was partially written. */
export class StoreUnavailable extends Error {
  /** Whether the same request may succeed a moment later. */
  readonly isCurable: boolean = true;

  constructor(
    message: string,
    readonly retryAfterSeconds: number,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/** A write without an answer: the bytes may exist under the key, or appear later. Its row must stay: nothing else names them. */
export class OutcomeUnknown extends StoreUnavailable {}

export interface StoredObject {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  readonly modifiedAt: Date;
}

/** A store for the bytes of large blobs, under keys that only this service creates. */
export abstract class BlobStore {
  abstract readonly location: StoreLocation;

  /**
   * Durable when it resolves; after any error but OutcomeUnknown, nothing is left under the key. A key is written only once
   * during its life in this store.
   * @throws OutcomeUnknown, StoreUnavailable, and the errors of reading the chunks
   */
  abstract put(key: string, chunks: AsyncIterable<Buffer>): Promise<void>;

  /**
   * The bytes of a key, or a range of them. The stream yields everything that was requested or fails; it never ends early.
   * @param size total size according to the blob's row
   * @throws BlobMissing when the key has no bytes, or a different number of them
   */
  abstract read(key: string, size: number, range?: ByteRange): Promise<Readable>;

  /** Deletes the bytes; succeeds for a key without bytes. */
  abstract delete(key: string): Promise<void>;

  /** The number of bytes of a key; undefined when it does not exist. */
  abstract sizeOf(key: string): Promise<number | undefined>;

  /** Lists all stored keys, or those of one workspace, page by page; unordered, but grouped by workspace. */
  abstract list(workspaceId?: string): AsyncIterable<StoredObject[]>;

  /** Removes what remains of a workspace after all its blobs are deleted; never deletes bytes. */
  abstract tidy(workspaceId: string): Promise<void>;

  /** Deletes unfinished uploads that started before that time, until aborted. Returns the number of deleted uploads. */
  abstract clearDrafts(before: Date, signal?: AbortSignal): Promise<number>;

  abstract close(): void;
}

/** Consists only of our own ids, new for every upload: never a content hash, never a name from a client. */
export function blobKey(workspaceId: string, blobId: string): string {
  return `${workspaceId}/${blobId}`;
}

/** Parses a key into its ids; undefined for a name that is not a blob key. */
export function idsIn(key: string): { workspaceId: string; id: string } | undefined {
  const [, workspaceId, id] = /^([0-9a-f-]{36})\/([0-9a-f-]{36})$/.exec(key) ?? [];
  return workspaceId && id ? { workspaceId, id } : undefined;
}

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

  async opened(): Promise<BlobStore[]> {
    const others = await Promise.allSettled(this.others.values());
    return [this.main, ...others.flatMap((other) => (other.status === 'fulfilled' ? [other.value] : []))];
  }

  async onApplicationShutdown(): Promise<void> {
    for (const store of await this.opened()) store.close();
  }
}

const DEFERRED_RETRY_SECONDS = 5;

/** A store that is opened when it is first used; while it cannot be opened, each use fails with StoreUnavailable. */
export class DeferredBlobStore extends BlobStore {
  private opened: BlobStore | undefined;
  private readonly open: () => Promise<BlobStore>;

  constructor(
    readonly location: StoreLocation,
    open: () => Promise<BlobStore>,
  ) {
    super();
    this.open = shared(open);
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

  /** @throws StoreUnavailable */
  private async store(): Promise<BlobStore> {
    if (this.opened) return this.opened;
    try {
      return (this.opened = await this.open());
    } catch (error) {
      throw new StoreUnavailable(
        `the ${this.location} store cannot be opened`,
        DEFERRED_RETRY_SECONDS,
        error,
      );
    }
  }
}
