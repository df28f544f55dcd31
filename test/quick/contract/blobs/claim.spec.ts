import { SweepLease } from '../../../../src/platform/storage/blob-sweeper.js';
import { Clock } from '../../../../src/platform/clock.js';

const MINUTE = 60_000;

/** Two clocks that can differ. */
class TwoClocks extends Clock {
  time = Date.UTC(2026, 0, 1);
  running = 0;

  override now(): Date {
    return new Date(this.time);
  }

  override elapsed(): number {
    return this.running;
  }
}

describe('a claim', () => {
  it.each([
    ['the time is set back', 0, 1],
    ['the machine sleeps and its running time stands still', 1, 0],
    ['both go on', 1, 1],
  ])('lasts ten minutes, and allows no removal to begin in the last of them: %s', (_, time, running) => {
    const clock = new TwoClocks();
    const claim = new SweepLease(clock);
    expect(claim.until.getTime() - clock.time).toBe(10 * MINUTE);
    const after = (ms: number): boolean => {
      clock.time += time * ms;
      clock.running += running * ms;
      return claim.holds();
    };
    expect(after(0)).toBe(true);
    expect(after(9 * MINUTE - 1)).toBe(true);
    expect(after(1)).toBe(false);
    expect(after(1000 * MINUTE)).toBe(false);
  });
});
