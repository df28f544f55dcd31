import type { Readable } from 'node:stream';

/** Inclusive byte positions. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Where a blob's bytes are kept. */
export type BlobLocation = 'inline' | 'disk' | 's3';

/** Bytes that the store said it has but does not, or not all: named apart so that it is never taken for an absent file. */
export class BlobMissing extends Error {
  constructor(key: string, cause?: unknown) {
    super(`the bytes of blob ${key} are missing from the store`, { cause });
  }
}

/** A place for the bytes of large blobs, under keys that only this service makes. */
export abstract class BlobStore {
  abstract readonly location: BlobLocation;

  /** Durable when it resolves; on any error nothing is left under the key. A key is written once in its life. */
  abstract put(key: string, chunks: AsyncIterable<Buffer>): Promise<void>;

  /**
   * The bytes of a key, or a range of them. The stream yields all that was asked for or fails; it never just ends.
   * @param size of the whole, as its row has it
   * @throws BlobMissing when the key has no bytes, or another number of them
   */
  abstract read(key: string, size: number, range?: ByteRange): Promise<Readable>;

  /** Removes the bytes; a key that has none is no error. */
  abstract delete(key: string): Promise<void>;

  /** Clears away what a workspace whose blobs are all gone leaves behind; never removes bytes. */
  abstract tidy(workspaceId: string): Promise<void>;
}
