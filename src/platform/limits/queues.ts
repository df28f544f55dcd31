import { Injectable } from '@nestjs/common';
import { Metrics } from '../metrics/index.js';
import { type FairLimits, FairSemaphore } from './fair-semaphore.js';

/** The queues of this instance. docs/operate/limits.md lists them all, with their bounds. */
@Injectable()
export class Queues {
  private readonly waiting = new Map<string, () => number>();

  constructor(metrics: Metrics) {
    const help = 'Calls that wait for their turn, by what they wait for';
    metrics.gauge('cloud_sync_waiting', help, ['queue'], () =>
      [...this.waiting].map(([queue, count]) => ({ labels: { queue }, value: count() })),
    );
  }

  /** A queue that is fair between owners. @param queue the name that the metrics have for it */
  open(queue: string, limits: FairLimits): FairSemaphore {
    const semaphore = new FairSemaphore(limits);
    this.watch(queue, () => semaphore.queued);
    return semaphore;
  }

  /** Shows a queue of another kind in the metrics. @param count how many wait in it */
  watch(queue: string, count: () => number): void {
    this.waiting.set(queue, count);
  }
}
