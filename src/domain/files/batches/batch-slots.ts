import { Injectable } from '@nestjs/common';
import { FairSemaphore, Queues } from '../../../platform/limits/index.js';

/** Limits the batches that are worked on at once. One whose client is silent is not. */
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
