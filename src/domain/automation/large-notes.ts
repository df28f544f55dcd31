import { Injectable } from '@nestjs/common';
import { type FairSemaphore, Queues } from '../../platform/limits/index.js';

/** Notes with more plaintext bytes than this are large. */
export const LARGE_NOTE_BYTES = 1024 * 1024;

/** A large note is in memory several times over while it is encrypted or decrypted. A slow client holds no slot. */
const LIMITS = {
  atOnce: 3,
  waiting: 32,
  perOwner: { atOnce: 2, waiting: 8 },
  waitMs: 10_000,
  busy: 'too many large notes are being processed',
};

/** Limits how many large notes are in memory, so that their number cannot exhaust it. */
@Injectable()
export class LargeNotes {
  private readonly slots: FairSemaphore;

  constructor(queues: Queues) {
    this.slots = queues.open('large_notes', LIMITS);
  }

  /**
   * Waits until `size` bytes of a user's note may be held in memory. Resolves with a function that releases them.
   * @throws ServiceUnavailable
   */
  acquire(userId: string, size: number): Promise<() => void> {
    if (size <= LARGE_NOTE_BYTES) return Promise.resolve(() => undefined);
    return this.take(userId);
  }

  /** Like `acquire`, for a note that is known to be large. */
  take(userId: string): Promise<() => void> {
    return this.slots.take(userId);
  }
}
