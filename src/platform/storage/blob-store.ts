import type { Readable } from 'node:stream';

/** Byte positions, both inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Where a blob's bytes are stored. */
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
    /** When a retry may help. */
    readonly retryAfterSeconds: number,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/**
 * A write without an answer: the bytes may exist under the key, or appear later. Its row must stay, otherwise nothing would
 * ever find them.
 */
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

  /** Releases the resources of the store. */
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
