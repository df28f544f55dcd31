import { lockLog, prepareThinning, type Thinned, thinVersions } from '../files/index.js';
import type { Clock } from '../../platform/clock.js';
import type { Database } from '../../platform/database/index.js';
import { NotFound } from '../../platform/http/index.js';
import type { Batch } from './history-walk.js';

/** The approximate time for which one batch may hold the workspace's lock. */
const LOCK_FOR_MS = 25;

const FIRST_BATCH = 50;
const SMALLEST_BATCH = 10;
const LARGEST_BATCH = 1_000;

/** The largest allowed ratio of a batch to the measured one. */
const GROWTH = 1.5;

/** How long the bytes of thinned versions are kept. */
const GRACE_MS = 24 * 60 * 60_000;

/** The thinning of one run, in transactions that each hold a workspace's lock only briefly. */
export class LockedThinning {
  private batch = FIRST_BATCH;

  private longest = 0;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    /** The reference time for ages. */
    readonly asOf: Date,
  ) {}

  /** The number of versions that the next transaction should take. */
  get batchSize(): number {
    return this.batch;
  }

  /** The longest time for which a workspace was locked, including the commit. */
  get longestLockMs(): number {
    return Math.ceil(this.longest);
  }

  /**
   * Pinned and current versions are read under the lock that checkpoints, uploads and restores also take; once a
   * version has been removed, none of these can refer to it. Undefined when the workspace has been deleted.
   */
  async thin(workspaceId: string, { versionIds, versions }: Batch): Promise<Thinned | undefined> {
    let lockedAt: number | undefined;
    let taken = 0;
    try {
      const thinned = await this.database.workspaceTransaction(workspaceId, async (tx) => {
        await prepareThinning(tx);
        await lockLog(tx, workspaceId);
        lockedAt = this.clock.elapsed();
        return thinVersions(tx, { workspaceId, versionIds, notBefore: this.endOfGrace() });
      });
      taken = versions;
      return thinned;
    } catch (error) {
      if (error instanceof NotFound) return undefined;
      throw error;
    } finally {
      if (lockedAt !== undefined) this.note(taken, this.clock.elapsed() - lockedAt);
    }
  }

  /** Uses the later of the clock and the run's time: a run as of last week must not make bytes deletable at once. */
  private endOfGrace(): Date {
    return new Date(Math.max(this.asOf.getTime(), this.clock.now().getTime()) + GRACE_MS);
  }

  /**
   * Sizes the next batch from the pace of this one, but never much larger than a measured one: a small batch, such as
   * the last of a workspace, says little about a large one. After a failed batch, which says nothing, the next one is
   * small.
   */
  private note(taken: number, heldMs: number): void {
    this.longest = Math.max(this.longest, heldMs);
    const fits = heldMs > 0 ? (taken * LOCK_FOR_MS) / heldMs : LARGEST_BATCH;
    const next = Math.floor(Math.min(fits, Math.max(this.batch, taken * GROWTH), LARGEST_BATCH));
    this.batch = Math.max(SMALLEST_BATCH, next);
  }
}
