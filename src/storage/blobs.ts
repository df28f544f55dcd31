import { Injectable } from '@nestjs/common';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Configuration } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, isOfGoneWorkspace, newId } from '../platform/database/index.js';
import { ServiceUnavailable, notFoundIfPurged } from '../platform/http/index.js';
import { Log } from '../platform/log/index.js';
import {
  blobKey,
  type BlobLocation,
  type ByteRange,
  OutcomeUnknown,
  StoreUnavailable,
} from './blob-store.js';
import { BlobStores } from './blob-stores.js';
import { blobStatements } from './blobs.queries.js';
import { SweepLease } from './blob-sweeper.js';
import { HashedBody } from './hashed-body.js';

const DISK_FAULTS = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE', 'EACCES']);
const DISK_RETRY_SECONDS = 60;

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
    private readonly stores: BlobStores,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /**
   * Takes in a body. Up to INLINE_BLOB_BYTES it stays in memory; beyond, it is streamed to the store, so memory
   * does not grow with its size. On any error nothing is left behind that is not known to the sweeper.
   * @throws NotFound when the workspace has gone, ServiceUnavailable, and what reading the body throws
   */
  async stage(workspaceId: string, chunks: AsyncIterable<Buffer>): Promise<StagedBlob> {
    const id = newId();
    const body = new HashedBody(chunks);
    const bytes = await body.upTo(this.configuration.inlineBlobBytes);
    if (bytes) return { workspaceId, id, size: body.size, sha256: body.sha256(), bytes };

    const { main } = this.stores;
    await this.stageRow(workspaceId, id);
    try {
      await main.put(blobKey(workspaceId, id), body);
    } catch (error) {
      // Where the outcome is unknown, there may be bytes later: only the sweeper, much later, can tell.
      if (!(error instanceof OutcomeUnknown)) await this.forgetRow(workspaceId, id);
      throw this.asUnavailable(error, 'write');
    }
    return { workspaceId, id, size: body.size, sha256: body.sha256(), bytes: null };
  }

  /**
   * Removes a blob, unless its upload has been committed. Best effort: the sweeper comes for what this misses, or the doctor
   * when the workspace has gone.
   *
   * The row decides, and not what the upload was told. Danger: a PANIC of PostgreSQL comes as the error of a statement
   * like any other, and its recovery may bring back the very commit that it was about. A commit takes the row from
   * staged to live, this makes it dying if it is not, and the row's lock lets only one of them: this waits for a commit
   * that is under way, or fails with the server, and a commit that arrives later finds nothing staged and comes to nothing.
   */
  async discard({ workspaceId, id, bytes }: StagedBlob): Promise<void> {
    if (bytes !== null) return;
    const lease = new SweepLease(this.clock);
    await this.log.bestEffort('discard a staged blob', async () => {
      if (!(await this.markForDeletion(workspaceId, id, lease)) || !lease.holds()) return;
      await this.stores.main.delete(blobKey(workspaceId, id));
      await this.database.run(blobStatements.forget, [workspaceId, id]);
    });
  }

  /** Where new blobs go that do not stand in their rows. */
  get mainLocation(): BlobLocation {
    return this.stores.main.location;
  }

  /** Writes the bytes of a blob that is put back under the ids it had; what is there is removed first, and lost if this fails. */
  async bring(workspaceId: string, id: string, chunks: AsyncIterable<Buffer>): Promise<void> {
    const { main } = this.stores;
    try {
      await main.delete(blobKey(workspaceId, id));
      await main.put(blobKey(workspaceId, id), chunks);
    } catch (error) {
      throw this.asUnavailable(error, 'write');
    }
  }

  /**
   * The bytes of a live blob, or a range of them: all of those or an error. The first of them are there when this resolves, so
   * that most faults come before anything of an answer; a later one ends the stream, and goes to the log.
   * @throws BlobMissing, ServiceUnavailable
   */
  async read(blob: BlobReference, range?: ByteRange): Promise<Readable | Buffer> {
    if (blob.bytes) return range ? blob.bytes.subarray(range.start, range.end + 1) : blob.bytes;
    const stream = await this.open(blob, range);
    stream.on('error', (err) => {
      if (err.name === 'AbortError') return; // its reader has stopped
      this.log.error({ err, key: blobKey(blob.workspaceId, blob.id) }, 'a blob ended before its last byte');
    });
    return stream;
  }

  /** All of a live blob. @throws BlobMissing, ServiceUnavailable */
  async readWhole(blob: BlobReference): Promise<Buffer> {
    if (blob.bytes) return blob.bytes;
    const chunks: Buffer[] = [];
    for await (const chunk of this.pieces(blob)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** A live blob, or a part of it, as its reader takes it. @throws BlobMissing, ServiceUnavailable */
  async *pieces(blob: BlobReference, range?: ByteRange): AsyncGenerator<Buffer, void> {
    const stream: AsyncIterable<Buffer> = await this.open(blob, range);
    try {
      yield* stream;
    } catch (error) {
      throw this.asUnavailable(error, 'read');
    }
  }

  private async open(
    { workspaceId, id, size, location }: BlobReference,
    range?: ByteRange,
  ): Promise<Readable> {
    if (location === 'inline') throw new Error('an inline blob without bytes');
    try {
      const stream = await (await this.stores.at(location)).read(blobKey(workspaceId, id), size, range);
      stream.on('error', () => undefined); // one that comes before its reader does would end the process
      await once(stream, 'readable');
      return stream;
    } catch (error) {
      throw this.asUnavailable(error, 'read');
    }
  }

  /** A full or failing disk or S3 store is the operator's to cure, and the client's to wait for. */
  private asUnavailable(error: unknown, what: 'read' | 'write'): unknown {
    const isDiskFault = DISK_FAULTS.has((error as NodeJS.ErrnoException).code ?? '');
    if (!isDiskFault && !(error instanceof StoreUnavailable)) return error;
    this.log.error({ err: error }, `the blob store cannot ${what}`);
    const seconds = error instanceof StoreUnavailable ? error.retryAfterSeconds : DISK_RETRY_SECONDS;
    return new ServiceUnavailable(`the blob store cannot ${what}`, seconds);
  }

  private async stageRow(workspaceId: string, id: string): Promise<void> {
    const values = [workspaceId, id, this.stores.main.location, this.clock.now()];
    try {
      await this.database.run(blobStatements.stage, values);
    } catch (error) {
      throw notFoundIfPurged(error);
    }
  }

  /** Whether nothing refers to it, nor will: also of a workspace that has gone. */
  private async markForDeletion(workspaceId: string, id: string, lease: SweepLease): Promise<boolean> {
    const values = [workspaceId, id, this.clock.now(), lease.until, this.stores.main.location];
    try {
      return (await this.database.run(blobStatements.markForDeletion, values)).length > 0;
    } catch (error) {
      if (isOfGoneWorkspace(error)) return true;
      throw error;
    }
  }

  /** Best effort: the sweeper comes for what this misses. */
  private async forgetRow(workspaceId: string, id: string): Promise<void> {
    await this.log.bestEffort('forget a staged blob', () =>
      this.database.run(blobStatements.forget, [workspaceId, id]),
    );
  }
}
