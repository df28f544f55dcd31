import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Clock } from '../clock/index.js';
import { Database, type Parameter, type Statement } from '../database/index.js';
import { Log } from '../log/index.js';
import { BlobStore, type BlobLocation } from './blob-store.js';
import { blobStatements } from './blobs.queries.js';
import { keyOf } from './blobs.js';

const BATCH = 200;
const SWEEP_EVERY_MS = 10 * 60_000;

/** A blob that cannot be removed is taken up again by the next sweep, and keeps nothing waiting behind it. */
const RETRY_AFTER_MS = SWEEP_EVERY_MS / 2;

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

  /** Takes up what crashed uploads left behind and what is past its grace, oldest first. Returns how many blobs went. */
  async sweep(now: Date): Promise<number> {
    await this.database.run(blobStatements.condemnStaged, [new Date(now.getTime() - STAGED_FOR_MS), now]);
    let removed = 0;
    for (;;) {
      const doomed = await this.database.run<DoomedBlob>(blobStatements.dying, [now, BATCH]);
      const gone = await this.remove(doomed, now);
      removed += gone;
      // A whole batch that stays is a store that is away: the others would fare no better.
      if (doomed.length < BATCH || gone === 0) return removed;
    }
  }

  /**
   * Removes up to a batch of a deleted workspace's blobs, whose versions are gone already. Uploads still under way
   * keep their staged row until they fail, so that none of their bytes is forgotten. Returns how many went; 0 when
   * none is left, or none that can be removed now.
   */
  async sweepWorkspace(workspaceId: string, now: Date): Promise<number> {
    const before = new Date(now.getTime() - STAGED_FOR_MS);
    const values = [workspaceId, before, BATCH];
    const doomed = await this.database.run<DoomedBlob>(blobStatements.ofDeletedWorkspace, values);
    if (doomed.length === 0) await this.tidy(workspaceId);
    return this.remove(doomed, now);
  }

  /** Each on its own: one that fails is postponed with its row, the rest go. Returns how many went. */
  private async remove(doomed: DoomedBlob[], now: Date): Promise<number> {
    const gone: DoomedBlob[] = [];
    const stuck: DoomedBlob[] = [];
    for (const blob of doomed) ((await this.removeBytes(blob)) ? gone : stuck).push(blob);
    await this.runFor(gone, blobStatements.removeRows);
    await this.runFor(stuck, blobStatements.postpone, new Date(now.getTime() + RETRY_AFTER_MS));
    return gone.length;
  }

  private async removeBytes({ workspaceId, id, location }: DoomedBlob): Promise<boolean> {
    if (location === 'inline') return true;
    const key = keyOf(workspaceId, id);
    try {
      await this.store.delete(key);
      return true;
    } catch (err) {
      this.log.warn({ err, key }, 'could not remove a blob');
      return false;
    }
  }

  private async runFor(blobs: DoomedBlob[], statement: Statement, ...more: Parameter[]): Promise<void> {
    if (blobs.length === 0) return;
    const workspaceIds = blobs.map(({ workspaceId }) => workspaceId);
    await this.database.run(statement, [workspaceIds, blobs.map(({ id }) => id), ...more]);
  }

  /** Not while an upload is under way: it would lose its directory between making it and writing there. */
  private async tidy(workspaceId: string): Promise<void> {
    const left = await this.database.run(blobStatements.anyOfWorkspace, [workspaceId]);
    if (left.length > 0) return;
    await this.log.bestEffort('tidy up after a workspace', () => this.store.tidy(workspaceId));
  }
}
