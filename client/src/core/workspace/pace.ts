/** What is aimed at: long enough that the way there and back does not count, short enough to lose little. */
const GOAL_MS = 5_000;
const SLOW_MS = 20_000;

const LEAST_BYTES = 64 * 1024;
const MOST_BYTES = 8 * 1024 * 1024;
const FIRST_BYTES = 1024 * 1024;
const MOST_LANES = 4;

/** How large batches are and how many are under way: less on a slow link, where several only wait for each other. */
export class Pace {
  /** Of the contents of a batch. */
  bytes = FIRST_BYTES;
  /** Batches under way at once. */
  lanes = 2;

  constructor(readonly now: () => number = () => performance.now()) {}

  /** A batch with so many bytes has taken so long. */
  took(bytes: number, ms: number): void {
    if (ms > SLOW_MS) this.lanes = Math.max(1, this.lanes - 1);
    else if (ms < GOAL_MS) this.lanes = Math.min(MOST_LANES, this.lanes + 1);
    const fitting = (bytes * GOAL_MS) / Math.max(1, ms);
    // Small batches tell little about how fast large ones are: no more than twice as many at once.
    if (fitting > this.bytes) this.bytes = Math.min(MOST_BYTES, fitting, this.bytes * 2);
    else if (ms > GOAL_MS) this.bytes = Math.max(LEAST_BYTES, fitting);
  }

  /** A batch was too much for the link or the service. */
  tooMuch(): void {
    this.bytes = Math.max(LEAST_BYTES, this.bytes / 4);
    this.lanes = 1;
  }
}
