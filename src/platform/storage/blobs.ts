import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { In, Not, type Repository } from 'typeorm';
import { Configuration } from '../config/index.js';
import { Clock } from '../clock.js';
import { Database, newId } from '../database/index.js';
import { HELD_OF_STREAM, NotFound, ServiceUnavailable } from '../http/index.js';
import { Log } from '../log.js';
import {
  blobKey,
  type BlobLocation,
  BlobStores,
  type ByteRange,
  OutcomeUnknown,
  StoreUnavailable,
} from './blob-store.js';
import { BlobEntity } from './storage.entities.js';
import { blobStatements } from './blobs.queries.js';
import { SweepLease } from './blob-sweeper.js';
import { HashedBody } from './hashed-body.js';
import { LEAST_PART_BYTES } from './s3/s3-transfers.js';

const DISK_FAULTS = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EMFILE', 'ENFILE', 'EACCES']);
const DISK_RETRY_SECONDS = 60;

/** Received bytes that no row refers to yet: in memory if small, durably in the store if large. */
export interface StagedBlob {
  readonly workspaceId: string;
  readonly id: string;
  readonly size: number;
  /** SHA-256 of the received bytes, in hex. */
  readonly sha256: string;
  /** The bytes if they will be stored in the row; null if they are in the store. */
  readonly bytes: Buffer | null;
}

/** A blob as referenced by a row. */
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
 * The bytes of versions and assets, one row of `blobs` each. Order of every write: a staged row, then the bytes, then the row
 * becomes live in the transaction that refers to it. A crash in between leaves a staged row for the sweeper.
 */
@Injectable()
export class Blobs {
  constructor(
    private readonly configuration: Configuration,
    private readonly database: Database,
    private readonly stores: BlobStores,
    private readonly clock: Clock,
    private readonly log: Log,
    @InjectRepository(BlobEntity) private readonly rows: Repository<BlobEntity>,
  ) {}

  /**
   * Accepts a body. Up to INLINE_BLOB_BYTES it stays in memory; a larger one is streamed to the store, so memory does not grow
   * with its size. On any error, nothing is left behind that the sweeper cannot find.
   * @throws NotFound when the workspace no longer exists, ServiceUnavailable, and the errors of reading the body
   */
  async stage(workspaceId: string, chunks: AsyncIterable<Buffer>): Promise<StagedBlob> {
    const body = new HashedBody(chunks);
    try {
      return await this.stageBody(workspaceId, body);
    } finally {
      body.end(); // also when the store failed before it began to read
    }
  }

  private async stageBody(workspaceId: string, body: HashedBody): Promise<StagedBlob> {
    const id = newId();
    const bytes = await body.upTo(this.configuration.inlineBlobBytes);
    if (bytes) return { workspaceId, id, size: body.size, sha256: body.sha256(), bytes };

    const { main } = this.stores;
    await this.stageRow(workspaceId, id);
    try {
      await main.put(blobKey(workspaceId, id), body);
    } catch (error) {
      // If the outcome is unknown, bytes may appear later: only the sweeper can tell, much later.
      if (!(error instanceof OutcomeUnknown))
        await this.log.bestEffort('delete the row of a staged blob', () => this.forget(workspaceId, id));
      throw this.asUnavailable(error, 'write');
    }
    return { workspaceId, id, size: body.size, sha256: body.sha256(), bytes: null };
  }

  /**
   * Accepts bytes that are in memory, whose hash has been checked.
   * @throws as `stage`
   */
  async stageWhole(workspaceId: string, bytes: Buffer, sha256: string): Promise<StagedBlob> {
    const { inlineBlobBytes } = this.configuration;
    if (inlineBlobBytes === 0 || bytes.length > inlineBlobBytes)
      return this.stage(workspaceId, Readable.from([bytes]) as AsyncIterable<Buffer>);
    return { workspaceId, id: newId(), size: bytes.length, sha256, bytes };
  }

  /**
   * Deletes a blob unless its upload was committed. Best effort: the sweeper finds what this misses, or the doctor if the
   * workspace no longer exists.
   *
   * The row decides, not the result that the upload saw. Danger: a PANIC of PostgreSQL looks like any other statement error,
   * and crash recovery may restore the very commit that failed with it. A commit changes the row from staged to live; this
   * marks it for deletion unless it is live, and the row lock allows only one of the two: this waits for a commit in progress,
   * or fails with the server, and a later commit finds no staged row and has no effect.
   */
  async discard({ workspaceId, id, bytes }: StagedBlob): Promise<void> {
    if (bytes !== null) return;
    const lease = new SweepLease(this.clock);
    await this.log.bestEffort('discard a staged blob', async () => {
      if (!(await this.markForDeletion(workspaceId, id, lease)) || !lease.holds()) return;
      await this.stores.main.delete(blobKey(workspaceId, id));
      await this.forget(workspaceId, id);
    });
  }

  /** Bytes of an upload that are in memory, given the number of bytes received. */
  heldOf(received: number): number {
    const part = this.mainLocation === 's3' ? LEAST_PART_BYTES : 0;
    return Math.min(received, Math.max(this.configuration.inlineBlobBytes, part, HELD_OF_STREAM));
  }

  /** The location of new blobs that are not stored in their rows. */
  get mainLocation(): BlobLocation {
    return this.stores.main.location;
  }

  /**
   * Writes the bytes of a blob that is restored under its original ids. Danger: existing bytes are deleted first, and lost if
   * this fails.
   */
  async bring(workspaceId: string, id: string, chunks: AsyncIterable<Buffer>): Promise<void> {
    const { main } = this.stores;
    try {
      await main.delete(blobKey(workspaceId, id));
      await main.put(blobKey(workspaceId, id), chunks);
    } catch (error) {
      throw this.asUnavailable(error, 'write');
    }
  }

  /** The live blobs among these ids of a workspace, in no particular order. */
  async find(workspaceId: string, ids: readonly string[]): Promise<BlobReference[]> {
    const rows = await this.rows.find({
      select: { id: true, size: true, location: true, bytes: true },
      where: { workspaceId, id: In([...ids]), state: 'live' },
    });
    return rows.map(({ id, size, location, bytes }) => ({
      workspaceId,
      id,
      size: size ?? 0,
      location,
      bytes,
    }));
  }

  /**
   * The bytes of a live blob, or a range of them: completely or an error. The first bytes are available when this resolves, so
   * that most faults occur before the response starts; a later one ends the stream and is logged.
   * @throws BlobMissing, ServiceUnavailable
   */
  async read(blob: BlobReference, range?: ByteRange): Promise<Readable | Buffer> {
    if (blob.bytes) return range ? blob.bytes.subarray(range.start, range.end + 1) : blob.bytes;
    const stream = await this.open(blob, range);
    stream.on('error', (err) => {
      if (err.name === 'AbortError') return; // the reader stopped
      this.log.error({ err, key: blobKey(blob.workspaceId, blob.id) }, 'a blob ended before its last byte');
    });
    return stream;
  }

  /**
   * All bytes of a live blob.
   * @throws BlobMissing, ServiceUnavailable
   */
  async readWhole(blob: BlobReference): Promise<Buffer> {
    if (blob.bytes) return blob.bytes;
    const chunks: Buffer[] = [];
    for await (const chunk of this.pieces(blob)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /**
   * Streams a live blob, or a part of it, at the reader's pace.
   * @throws BlobMissing, ServiceUnavailable
   */
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
      stream.on('error', () => undefined); // without a listener, an early error would end the process
      await once(stream, 'readable');
      return stream;
    } catch (error) {
      throw this.asUnavailable(error, 'read');
    }
  }

  /** A full or failing disk or S3 store is for the operator to fix; the client can only retry later. */
  private asUnavailable(error: unknown, what: 'read' | 'write'): unknown {
    const isDiskFault = DISK_FAULTS.has((error as NodeJS.ErrnoException).code ?? '');
    if (!isDiskFault && !(error instanceof StoreUnavailable)) return error;
    this.log.error({ err: error }, `the blob store cannot ${what}`);
    const seconds = error instanceof StoreUnavailable ? error.retryAfterSeconds : DISK_RETRY_SECONDS;
    return new ServiceUnavailable(`the blob store cannot ${what}`, seconds);
  }

  private async stageRow(workspaceId: string, id: string): Promise<void> {
    const values = [workspaceId, id, this.stores.main.location, this.clock.now()];
    if ((await this.database.run(blobStatements.stage, values)).length === 0)
      throw new NotFound('workspace not found');
  }

  /** Returns whether nothing refers to the blob or ever will, including when its workspace no longer exists. */
  private async markForDeletion(workspaceId: string, id: string, lease: SweepLease): Promise<boolean> {
    const values = [workspaceId, id, this.clock.now(), lease.until, this.stores.main.location];
    const [marked] = await this.database.run<{ isUnused: boolean }>(blobStatements.markForDeletion, values);
    return marked?.isUnused ?? false;
  }

  /** Only for blobs that certainly have no bytes in the store. */
  private async forget(workspaceId: string, id: string): Promise<void> {
    await this.rows.delete({ workspaceId, id, state: Not('live') });
  }
}
