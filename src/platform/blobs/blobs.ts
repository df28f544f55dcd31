import { Injectable } from '@nestjs/common';
import { Readable } from 'node:stream';
import { v7 as uuidv7 } from 'uuid';
import { Configuration } from '../../config/index.js';
import { Clock } from '../clock/index.js';
import { Database } from '../database/index.js';
import { ServiceUnavailable } from '../http/index.js';
import { Log } from '../log/index.js';
import { BlobStore, type BlobLocation, type ByteRange } from './blob-store.js';
import { blobStatements } from './blobs.queries.js';
import { HashedBody } from './hashed-body.js';

const DISK_FAULTS = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE', 'EACCES']);

/** Bytes that are safe but that no row refers to yet: in memory when small, in the store when large. */
export interface StagedBlob {
  readonly workspaceId: string;
  readonly id: string;
  readonly size: number;
  /** SHA-256, hex, of the bytes that came. */
  readonly sha256: string;
  /** The bytes themselves when they go into the row; null when the store has them. */
  readonly bytes: Buffer | null;
}

/** A blob as a row names it. */
export interface BlobReference {
  readonly workspaceId: string;
  readonly id: string;
  /** In bytes. */
  readonly size: number;
  readonly location: BlobLocation;
  /** The bytes of an inline blob. */
  readonly bytes: Buffer | null;
}

/**
 * The bytes behind versions and assets, one row of `blobs` each. Order of every write: the row as staged, the
 * bytes, then live in the transaction that refers to it. A crash in between leaves a staged row for the sweeper.
 */
@Injectable()
export class Blobs {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly store: BlobStore,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /**
   * Takes in a body. Up to INLINE_BLOB_BYTES it stays in memory; beyond, it is streamed to the store, so memory
   * does not grow with its size. On any error nothing is left behind.
   */
  async stage(workspaceId: string, chunks: AsyncIterable<Buffer>): Promise<StagedBlob> {
    const id = uuidv7();
    const body = new HashedBody(chunks);
    const bytes = await body.upTo(this.configuration.inlineBlobBytes);
    if (bytes) return { workspaceId, id, size: body.size, sha256: body.sha256(), bytes };

    await this.database.run(blobStatements.stage, [workspaceId, id, this.store.location, this.clock.now()]);
    try {
      await this.store.put(keyOf(workspaceId, id), body);
    } catch (error) {
      await this.forget(workspaceId, id);
      throw this.asUnavailable(error, 'write');
    }
    return { workspaceId, id, size: body.size, sha256: body.sha256(), bytes: null };
  }

  /** Removes a blob that nothing will refer to. Best effort: the sweeper comes for what this misses. */
  async discard(blob: StagedBlob): Promise<void> {
    if (blob.bytes === null) await this.forget(blob.workspaceId, blob.id);
  }

  /** The bytes of a live blob, or a range of them: all of those or an error. @throws BlobMissing, ServiceUnavailable */
  async read(blob: BlobReference, range?: ByteRange): Promise<Readable | Buffer> {
    if (blob.bytes) return range ? blob.bytes.subarray(range.start, range.end + 1) : blob.bytes;
    try {
      return await this.store.read(keyOf(blob.workspaceId, blob.id), blob.size, range);
    } catch (error) {
      throw this.asUnavailable(error, 'read');
    }
  }

  /** A full or failing disk is the operator's to cure, and the client's to wait for. */
  private asUnavailable(error: unknown, what: 'read' | 'write'): unknown {
    if (!DISK_FAULTS.has((error as NodeJS.ErrnoException).code ?? '')) return error;
    this.log.error({ err: error }, `the blob store cannot ${what}`);
    return new ServiceUnavailable(`the blob store cannot ${what}`, 60);
  }

  private async forget(workspaceId: string, id: string): Promise<void> {
    await this.log.bestEffort('discard a staged blob', async () => {
      await this.store.delete(keyOf(workspaceId, id));
      await this.database.run(blobStatements.forgetStaged, [workspaceId, id]);
    });
  }
}

/** Made of our own ids alone, fresh for every upload: never the content's hash, never a client's name. */
export function keyOf(workspaceId: string, blobId: string): string {
  return `${workspaceId}/${blobId}`;
}
