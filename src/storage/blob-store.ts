import type { Readable } from 'node:stream';

/** Inclusive byte positions. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Where a blob's bytes are kept. */
export type BlobLocation = 'inline' | StoreLocation;

/** The places outside the database. */
export type StoreLocation = 'disk' | 's3';

/** Bytes that the store said it has but does not, or not all: named apart so that it is never taken for an absent file. */
export class BlobMissing extends Error {
  constructor(key: string, cause?: unknown) {
    super(`the bytes of blob ${key} are missing from the store`, { cause });
  }
}

/** The store does not do its work now. The request may be sent again; nothing was half-written. */
export class StoreUnavailable extends Error {
  constructor(
    message: string,
    /** When it may help to try again. */
    readonly retryAfterSeconds: number,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}

/**
 * A write whose answer was lost: the bytes may be under the key, or come to be there in a while. Its row must stay, or
 * nobody would ever find them.
 */
export class OutcomeUnknown extends StoreUnavailable {}

export interface StoredObject {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  readonly modifiedAt: Date;
}

/** A place for the bytes of large blobs, under keys that only this service makes. */
export abstract class BlobStore {
  abstract readonly location: StoreLocation;

  /**
   * Durable when it resolves; on any error but OutcomeUnknown nothing is left under the key. A key is written once in
   * its life here. @throws OutcomeUnknown, StoreUnavailable, and what reading the chunks throws
   */
  abstract put(key: string, chunks: AsyncIterable<Buffer>): Promise<void>;

  /**
   * The bytes of a key, or a range of them. The stream yields all that was asked for or fails; it never just ends.
   * @param size of the whole, as its row has it
   * @throws BlobMissing when the key has no bytes, or another number of them
   */
  abstract read(key: string, size: number, range?: ByteRange): Promise<Readable>;

  /** Removes the bytes; a key that has none is no error. */
  abstract delete(key: string): Promise<void>;

  /** How many bytes a key has; undefined when it has none at all. */
  abstract sizeOf(key: string): Promise<number | undefined>;

  /** All that is stored under keys, or those of one workspace, a page at a time; in no order, the workspaces together. */
  abstract list(workspaceId?: string): AsyncIterable<StoredObject[]>;

  /** Clears away what a workspace whose blobs are all gone leaves behind; never removes bytes. */
  abstract tidy(workspaceId: string): Promise<void>;

  /** Removes what uploads that began before have left under no key, until aborted. Returns how many. */
  abstract clearDrafts(before: Date, signal?: AbortSignal): Promise<number>;

  /** Lets go of what the store holds open. */
  abstract close(): void;
}

/** Made of our own ids alone, fresh for every upload: never the content's hash, never a client's name. */
export function blobKey(workspaceId: string, blobId: string): string {
  return `${workspaceId}/${blobId}`;
}

/** The ids that a key is made of; undefined for a name that no blob has. */
export function idsIn(key: string): { workspaceId: string; id: string } | undefined {
  const [, workspaceId, id] = /^([0-9a-f-]{36})\/([0-9a-f-]{36})$/.exec(key) ?? [];
  return workspaceId && id ? { workspaceId, id } : undefined;
}
