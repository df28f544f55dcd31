import { Injectable } from '@nestjs/common';
import { FairSemaphore, Queues } from '../platform/limits/index.js';

/** How long the transfer of a batch may take: it holds up to three groups of items in memory meanwhile. */
export const LONGEST_BATCH_MS = 120_000;

/** Limits the batches that are transferred at once, and with them the memory that they take. */
@Injectable()
export class BatchSlots extends FairSemaphore {
  constructor(queues: Queues) {
    super({
      atOnce: 32,
      waiting: 256,
      perOwner: { atOnce: 8, waiting: 32 },
      waitMs: 10_000,
      busy: 'too many batches at once',
    });
    queues.watch('batches', () => this.queued);
  }
}
