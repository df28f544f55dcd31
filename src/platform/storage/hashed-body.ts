import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { blobKey, BlobMissing, type BlobStore } from './blob-store.js';

/** Counts and hashes a body while it is streamed; it can be read once. */
export class HashedBody implements AsyncIterable<Buffer> {
  private readonly hash = createHash('sha256');
  private readonly source: AsyncIterator<Buffer>;
  private readonly held: Buffer[] = [];
  /** Number of bytes streamed so far. */
  size = 0;

  constructor(chunks: AsyncIterable<Buffer>) {
    this.source = chunks[Symbol.asyncIterator]();
  }

  /**
   * Reads a body to its last byte and discards it.
   * @throws the errors of its source
   */
  static async readThrough(chunks: AsyncIterable<Buffer>): Promise<HashedBody> {
    const body = new HashedBody(chunks);
    await finished(Readable.from(body).resume());
    return body;
  }

  /** SHA-256 in hex; call this only once, after the last byte. */
  sha256(): string {
    return this.hash.digest('hex');
  }

  /** Whether these bytes match the row or backup entry; consumes the hash. */
  is({ size, sha256 }: { readonly size: number; readonly sha256: string }): boolean {
    return this.size === size && this.sha256() === sha256;
  }

  /** Returns the whole body if it has at most `limit` bytes; otherwise null, and iterating yields all of it. */
  async upTo(limit: number): Promise<Buffer | null> {
    for (let chunk = await this.next(); chunk; chunk = await this.next()) {
      this.held.push(chunk);
      if (this.size > limit) return null;
    }
    return limit > 0 ? Buffer.concat(this.held) : null;
  }

  /** Stops reading, so that other code may discard the rest. Does nothing after the last byte. */
  end(): void {
    void this.source.return?.().catch(() => undefined); // not awaited: it may wait for the next bytes
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      yield* this.held.splice(0);
      for (let chunk = await this.next(); chunk; chunk = await this.next()) yield chunk;
    } finally {
      await this.source.return?.();
    }
  }

  private async next(): Promise<Buffer | undefined> {
    const next = await this.source.next();
    if (next.done) return undefined;
    this.size += next.value.length;
    this.hash.update(next.value);
    return next.value;
  }
}

/** A blob as its row describes it. */
export interface Described {
  readonly workspaceId: string;
  readonly id: string;
  /** In bytes. */
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
}

/** Whether a store has exactly the bytes of a blob; reads all of them. */
export async function hasWhole(store: BlobStore, blob: Described): Promise<boolean> {
  try {
    const bytes = await store.read(blobKey(blob.workspaceId, blob.id), blob.size);
    return (await HashedBody.readThrough(bytes)).is(blob);
  } catch (error) {
    if (error instanceof BlobMissing) return false;
    throw error;
  }
}
