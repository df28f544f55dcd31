import { Clock } from '../../src/platform/clock.js';

/** Real time plus an offset, or stopped. Nothing sleeps. */
export class MovableClock extends Clock {
  private offsetMs = 0;
  /** By how much the clock is wrong, in addition to the time that has passed. */
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

  /** Makes the clock wrong by this much, although no time has passed. 0: corrects it. */
  setWrongBy(ms: number): void {
    this.faultMs = ms;
  }

  /** Stops the clock at exactly this time, until it is moved again. */
  stopAt(time: Date): void {
    this.stoppedAt = time.getTime();
  }

  /** Lets time run again, with its earlier offset. */
  resume(): void {
    this.stoppedAt = undefined;
  }
}
