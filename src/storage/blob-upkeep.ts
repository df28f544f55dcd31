import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { TrustedTime } from '../platform/jobs/index.js';
import { Log } from '../platform/log/index.js';
import { BlobStores } from './blob-stores.js';
import { BlobSweeper, STAGED_FOR_MS, SWEEP_EVERY_MS } from './blob-sweeper.js';
import { OrphanedCopies } from './orphaned-copies.js';

/** What a sweep has removed. */
export interface Swept {
  /** Blobs that nothing referred to. */
  readonly blobs: number;
  /** Copies that moves between stores have left. */
  readonly copies: number;
  /** Uploads that were never finished. */
  readonly drafts: number;
  /** Blobs and copies that a store did not remove; they are tried again. */
  readonly stuck: number;
}

/** All that is swept, on every instance in turn; instances do not get in each other's way. */
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

  /** Blobs alone. Returns how many went. @throws as `sweep` */
  async sweepBlobs(): Promise<number> {
    return this.sweeper.sweep(await this.time.now());
  }

  /**
   * @param signal once aborted, it ends with the batch under way; what is left is the next sweep's
   * @throws when the database or a store fails; what was done until then stays done
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
