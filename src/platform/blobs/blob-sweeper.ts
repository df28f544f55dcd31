import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Clock } from '../clock/index.js';
import { Database } from '../database/index.js';
import { Log } from '../log/index.js';
import { BlobStore, type BlobLocation } from './blob-store.js';
import { blobStatements } from './blobs.queries.js';
import { keyOf } from './blobs.js';

const BATCH = 200;
const SWEEP_EVERY_MS = 10 * 60_000;

/** Longer than any upload may take, so that a row this old belongs to an upload that has died. */
const STAGED_FOR_MS = 60 * 60_000;

interface DoomedBlob {
  workspaceId: string;
  id: string;
  location: BlobLocation;
}

/** Removes blobs that nothing refers to. Safe to run twice at once: bytes go first, then the row that names them. */
@Injectable()
export class BlobSweeper {
  constructor(
    private readonly database: Database,
    private readonly store: BlobStore,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  @Interval(SWEEP_EVERY_MS)
  async sweepNow(): Promise<void> {
    await this.log.bestEffort('sweep blobs', () => this.sweep(this.clock.now()));
  }

  /** Takes up what crashed uploads left behind and what is past its grace. Returns how many blobs went. */
  async sweep(now: Date): Promise<number> {
    await this.database.run(blobStatements.condemnStaged, [new Date(now.getTime() - STAGED_FOR_MS), now]);
    let removed = 0;
    for (;;) {
      const doomed = await this.database.run<DoomedBlob>(blobStatements.dying, [now, BATCH]);
      await this.remove(doomed);
      removed += doomed.length;
      if (doomed.length < BATCH) return removed;
    }
  }

  /**
   * Removes up to a batch of a deleted workspace's blobs, whose versions are gone already. Uploads still under way
   * keep their staged row until they fail, so that none of their bytes is forgotten. Returns how many went.
   */
  async sweepWorkspace(workspaceId: string, now: Date): Promise<number> {
    const before = new Date(now.getTime() - STAGED_FOR_MS);
    const doomed = await this.database.run<DoomedBlob>(blobStatements.ofDeletedWorkspace, [
      workspaceId,
      before,
      BATCH,
    ]);
    await this.remove(doomed);
    return doomed.length;
  }

  private async remove(doomed: DoomedBlob[]): Promise<void> {
    for (const blob of doomed) {
      if (blob.location !== 'inline') await this.store.delete(keyOf(blob.workspaceId, blob.id));
    }
    if (doomed.length === 0) return;
    await this.database.run(blobStatements.removeRows, [
      doomed.map(({ workspaceId }) => workspaceId),
      doomed.map(({ id }) => id),
    ]);
  }
}
