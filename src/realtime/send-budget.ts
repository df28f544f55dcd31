/** About 15 ms of work. */
const SENDS_PER_TURN = 1_000;

/**
 * Counts what is sent at a stretch: after every 1,000 the sender yields to the event loop, or nothing else would get
 * done.
 */
export class SendBudget {
  private sends = 0;

  /** Whether it is over with so many more; then the next one begins. */
  isOverWith(sends: number): boolean {
    this.sends += sends;
    if (this.sends < SENDS_PER_TURN) return false;
    this.sends = 0;
    return true;
  }
}
