import type { Clock } from '../platform/clock/index.js';

/** Longer than a batch takes as a rule. What it does not come to within this time is left to another sweep. */
const CLAIMED_FOR_MS = 10 * 60_000;

/** Longer than the removal of one blob may take: one that is begun ends within the lease. */
const LAST_REMOVAL_MS = 60_000;

/**
 * A sweeper's lease on what it removes. It ends, as its process may die. Danger: a process that stood still may have
 * outlived its lease, and a move may have brought bytes back to a key meanwhile; so `holds` is asked before each
 * removal.
 */
export class SweepLease {
  /** Until when others take it for good; tells it apart from a later one to the same blob. */
  readonly until: Date;
  private readonly lastRemovalAt: number;

  /** To be made before the statement that writes it down. */
  constructor(private readonly clock: Clock) {
    this.until = new Date(clock.now().getTime() + CLAIMED_FOR_MS);
    this.lastRemovalAt = clock.elapsed() + CLAIMED_FOR_MS - LAST_REMOVAL_MS;
  }

  /** Asks two clocks: the time of day can be set back, and the other one stands still while the machine sleeps. */
  holds(): boolean {
    const left = this.until.getTime() - this.clock.now().getTime();
    return left > LAST_REMOVAL_MS && this.clock.elapsed() < this.lastRemovalAt;
  }
}
