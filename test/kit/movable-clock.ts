import { Clock } from '../../src/platform/clock/index.js';

/** Real time plus what a test has moved it by: nothing sleeps. */
export class MovableClock extends Clock {
  private offsetMs = 0;

  override now(): Date {
    return new Date(Date.now() + this.offsetMs);
  }

  advance(ms: number): void {
    this.offsetMs += ms;
  }
}
