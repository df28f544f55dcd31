import { blobKey, BlobMissing, type BlobStore } from './blob-store.js';
import { HashedBody } from './hashed-body.js';

/** A blob as its row describes it. */
export interface Described {
  readonly workspaceId: string;
  readonly id: string;
  /** In bytes. */
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
}

/** Whether a store has the bytes of a blob, all of them and no others: every one is read. */
export async function hasWhole(store: BlobStore, blob: Described): Promise<boolean> {
  try {
    const bytes = await store.read(blobKey(blob.workspaceId, blob.id), blob.size);
    return (await HashedBody.readThrough(bytes)).is(blob);
  } catch (error) {
    if (error instanceof BlobMissing) return false;
    throw error;
  }
}
