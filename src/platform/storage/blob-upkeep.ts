import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { TrustedTime } from '../jobs/index.js';
import { Log } from '../log/index.js';
import { BlobStores } from './blob-stores.js';
import { BlobSweeper, STAGED_FOR_MS, SWEEP_EVERY_MS } from './blob-sweeper.js';
import { OrphanedCopies } from './orphaned-copies.js';

/** What a sweep has deleted. */
export interface Swept {
  /** Blobs without references. */
  readonly blobs: number;
  /** Copies left behind by moves between stores. */
  readonly copies: number;
  /** Unfinished uploads. */
  readonly drafts: number;
  /** Blobs and copies that a store could not delete; they are retried. */
  readonly stuck: number;
}

/** Runs all sweeps. Every instance does; instances do not disturb each other. */
@Injectable()
export class BlobUpkeep {
  constructor(
    private readonly sweeper: BlobSweeper,
    private readonly orphanedCopies: OrphanedCopies,
    private readonly stores: BlobStores,
    private readonly time: TrustedTime,
    private readonly log: Log,
  ) {}

  @Interval(SWEEP_EVERY_MS)
  async sweepNow(): Promise<void> {
    await this.log.bestEffort('sweep blobs', async () => this.sweep(await this.time.now()));
  }

  /**
   * Sweeps only blobs. Returns the number of deleted blobs.
   * @throws as `sweep`
   */
  async sweepBlobs(): Promise<number> {
    return this.sweeper.sweep(await this.time.now());
  }

  /**
   * @param signal once aborted, stops after the current batch; the next sweep does the rest
   * @throws when the database or a store fails; what was done by then stays done
   */
  async sweep(now: Date, signal?: AbortSignal): Promise<Swept> {
    const blobs = await this.sweeper.sweepAll(now, signal);
    const copies = await this.orphanedCopies.sweep(now, signal);
    const draftsBefore = new Date(now.getTime() - STAGED_FOR_MS);
    let drafts = 0;
    for (const store of await this.stores.opened()) drafts += await store.clearDrafts(draftsBefore, signal);
    return { blobs: blobs.gone, copies: copies.gone, drafts, stuck: blobs.stuck + copies.stuck };
  }
}
