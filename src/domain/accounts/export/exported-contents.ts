import { Injectable } from '@nestjs/common';
import { BlobMissing, type BlobReference, Blobs } from '../../../platform/storage/index.js';
import type { Entry } from './archive.js';

/** A ciphertext that rows refer to. */
export interface StoredContent {
  readonly blobId: string;
  /** In bytes. */
  readonly size: number;
}

const MAX_BATCH = 100;
const BATCH_BYTES = 1024 * 1024;

/** Reads the ciphertexts of versions and attachments. */
@Injectable()
export class ExportedContents {
  constructor(private readonly blobs: Blobs) {}

  /**
   * The contents as files. Small ones are read in batches of up to a MiB, large ones are streamed.
   * @param absent gets the ids of those that were deleted meanwhile, or whose bytes are missing
   * @throws ServiceUnavailable when the blob store does not answer
   */
  async *entries(
    workspaceId: string,
    folder: string,
    contents: readonly StoredContent[],
    absent: Set<string>,
  ): AsyncGenerator<Entry, void> {
    for (const batch of batchesOf(contents)) {
      const ids = batch.map(({ blobId }) => blobId);
      const found = new Map((await this.blobs.find(workspaceId, ids)).map((blob) => [blob.id, blob]));
      for (const id of ids) {
        const chunks = await this.chunksOf(found.get(id));
        if (!chunks) absent.add(id);
        else yield { name: `${folder}/${id}`, size: found.get(id)?.size ?? 0, chunks };
      }
    }
  }

  /** Undefined when there are no bytes. The first ones are there when this resolves. */
  private async chunksOf(blob: BlobReference | undefined): Promise<Entry['chunks'] | undefined> {
    if (!blob) return undefined;
    try {
      const bytes = await this.blobs.read(blob);
      return Buffer.isBuffer(bytes) ? [bytes] : bytes;
    } catch (error) {
      if (error instanceof BlobMissing) return undefined;
      throw error;
    }
  }
}

function* batchesOf(contents: readonly StoredContent[]): Generator<StoredContent[], void> {
  let batch: StoredContent[] = [];
  let bytes = 0;
  for (const content of contents) {
    if (batch.length === MAX_BATCH || (batch.length > 0 && bytes + content.size > BATCH_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(content);
    bytes += content.size;
  }
  if (batch.length > 0) yield batch;
}
