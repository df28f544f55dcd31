import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../clock/index.js';

const TURN_MS = 10;

/** For long work in small steps: yields to the event loop after every 10 ms. */
export class EventLoopYield {
  private since: number;

  constructor(private readonly clock: Clock) {
    this.since = clock.elapsed();
  }

  /** To be awaited after each step. */
  async pause(): Promise<void> {
    if (this.clock.elapsed() - this.since < TURN_MS) return;
    await setImmediate();
    this.since = this.clock.elapsed();
  }
}
