const FIRST_MS = 1_000;
const LONGEST_MS = 300_000;

/** Growing random pauses after consecutive failures. */
export class Backoff {
  private failures = 0;

  constructor(private readonly random: () => number = Math.random) {}

  /** Between half of the pause and all of it, so that clients that failed together do not return together. */
  nextMs(): number {
    const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(this.failures++, 20));
    return longest * (0.5 + this.random() / 2);
  }

  reset(): void {
    this.failures = 0;
  }
}
