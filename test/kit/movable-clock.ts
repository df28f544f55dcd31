import { Clock } from '../../src/platform/clock.js';

/** Real time plus what a test has moved it by, or standing still: nothing sleeps. */
export class MovableClock extends Clock {
  private offsetMs = 0;
  /** How far the clock is off, apart from the time that has passed. */
  private faultMs = 0;
  private stoppedAt: number | undefined;

  override now(): Date {
    return new Date((this.stoppedAt ?? Date.now() + this.offsetMs) + this.faultMs);
  }

  override elapsed(): number {
    return performance.now() + this.offsetMs;
  }

  advance(ms: number): void {
    this.offsetMs += ms;
    if (this.stoppedAt !== undefined) this.stoppedAt += ms;
  }

  /** From now on the clock is off by this much, although no time has passed. 0: it is right again. */
  setWrongBy(ms: number): void {
    this.faultMs = ms;
  }

  /** Stops the clock at this time, to the millisecond, until it is moved again. */
  stopAt(time: Date): void {
    this.stoppedAt = time.getTime();
  }

  /** Time runs again: the real one, and what it has been moved by. */
  resume(): void {
    this.stoppedAt = undefined;
  }
}
