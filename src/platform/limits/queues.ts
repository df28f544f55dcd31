import { Injectable } from '@nestjs/common';
import { Metrics } from '../metrics/index.js';
import { type FairLimits, FairSemaphore } from './fair-semaphore.js';

/** The queues of this instance. docs/operate/limits.md lists all of them with their limits. */
@Injectable()
export class Queues {
  private readonly waiting = new Map<string, () => number>();

  constructor(metrics: Metrics) {
    const help = 'Calls that wait in a queue, by queue';
    metrics.gauge('cloud_sync_waiting', help, ['queue'], () =>
      [...this.waiting].map(([queue, count]) => ({ labels: { queue }, value: count() })),
    );
  }

  /** How many calls wait, by queue. */
  counts(): ReadonlyMap<string, number> {
    return new Map([...this.waiting].map(([queue, count]) => [queue, count()]));
  }

  /**
   * Creates a queue that is fair between owners.
   * @param queue its name in the metrics
   */
  open(queue: string, limits: FairLimits): FairSemaphore {
    const semaphore = new FairSemaphore(limits);
    this.watch(queue, () => semaphore.queued);
    return semaphore;
  }

  /**
   * Adds a queue of another kind to the metrics.
   * @param count returns the number of waiting calls
   */
  watch(queue: string, count: () => number): void {
    this.waiting.set(queue, count);
  }
}
