import { lockLog, prepareThinning, type Thinned, thinVersions } from '../files/index.js';
import type { Clock } from '../platform/clock/index.js';
import type { Database } from '../platform/database/index.js';
import { NotFound } from '../platform/http/index.js';
import type { Batch } from './history-walk.js';

/** For about so long one batch may hold the workspace's lock. */
const LOCK_FOR_MS = 25;

const FIRST_BATCH = 50;
const SMALLEST_BATCH = 10;
const LARGEST_BATCH = 1_000;

/** How much larger than one that was measured a batch may be. */
const GROWTH = 1.5;

/** How long the bytes of what is thinned stay. */
const GRACE_MS = 24 * 60 * 60_000;

/** The thinning of one run, in transactions that hold a workspace's lock for a moment each. */
export class LockedThinning {
  private batch = FIRST_BATCH;
  private longest = 0;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    /** The time as of which ages are told. */
    readonly asOf: Date,
  ) {}

  /** How many versions the next transaction should take. */
  get batchSize(): number {
    return this.batch;
  }

  /** The longest that a workspace was locked, its commit included. */
  get longestLockMs(): number {
    return Math.ceil(this.longest);
  }

  /**
   * What is pinned and what is current is read under the lock that checkpoints, uploads and restores take as well, and
   * nothing can be made of a version that has gone by then. Undefined when the workspace has been deleted.
   */
  async thin(workspaceId: string, { versionIds, versions }: Batch): Promise<Thinned | undefined> {
    let lockedAt: number | undefined;
    let taken = 0;
    try {
      const thinned = await this.database.transaction(async (tx) => {
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

  /** By the clock as well as by the run: one as of last week must not mark bytes for deletion at once. */
  private endOfGrace(): Date {
    return new Date(Math.max(this.asOf.getTime(), this.clock.now().getTime()) + GRACE_MS);
  }

  /**
   * The next batch is as large as fits at the pace of this one, and never much larger than any that was measured: a
   * small one, the last of a workspace say, tells little of a large one. One that failed tells nothing; the next is small.
   */
  private note(taken: number, heldMs: number): void {
    this.longest = Math.max(this.longest, heldMs);
    const fits = heldMs > 0 ? (taken * LOCK_FOR_MS) / heldMs : LARGEST_BATCH;
    const next = Math.floor(Math.min(fits, Math.max(this.batch, taken * GROWTH), LARGEST_BATCH));
    this.batch = Math.max(SMALLEST_BATCH, next);
  }
}
