/** Target duration of a batch: long enough to hide the round trip, short enough to lose little in a failure. */
const GOAL_MS = 5_000;
const SLOW_MS = 20_000;

const LEAST_BYTES = 64 * 1024;
const MOST_BYTES = 8 * 1024 * 1024;
const FIRST_BYTES = 1024 * 1024;
const MOST_LANES = 4;

/** Adapts the size and number of concurrent batches: fewer and smaller on a slow link, where they wait for each other. */
export class Pace {
  /** Most bytes of content per batch. */
  bytes = FIRST_BYTES;
  /** Number of concurrent batches. */
  lanes = 2;

  constructor(readonly now: () => number = () => performance.now()) {}

  /** Records the duration of a batch. */
  took(bytes: number, ms: number): void {
    if (ms > SLOW_MS) this.lanes = Math.max(1, this.lanes - 1);
    else if (ms < GOAL_MS) this.lanes = Math.min(MOST_LANES, this.lanes + 1);
    const fitting = (bytes * GOAL_MS) / Math.max(1, ms);
    // Small batches say little about large ones, so at most double the size.
    if (fitting > this.bytes) this.bytes = Math.min(MOST_BYTES, fitting, this.bytes * 2);
    else if (ms > GOAL_MS) this.bytes = Math.max(LEAST_BYTES, fitting);
  }

  /** Records that a batch was too much for the link or the service. */
  tooMuch(): void {
    this.bytes = Math.max(LEAST_BYTES, this.bytes / 4);
    this.lanes = 1;
  }
}
