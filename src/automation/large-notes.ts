import { Injectable } from '@nestjs/common';
import { KeyedSemaphore, Semaphore } from '../platform/limits/index.js';

/** Plaintext bytes from which on a note is large. */
export const LARGE_NOTE_BYTES = 1024 * 1024;

/** A large note is in memory several times over while it is encrypted, decrypted or sent. */
const LIMITS = { atOnce: 3, waiting: 16, waitMs: 10_000, busy: 'too many large notes at a time' };

/** What a client sends or takes in slowly must not keep everybody else out. */
const OF_ONE_USER = { ...LIMITS, atOnce: 2 };

/** Keeps the large notes that are in memory few, so that their number is not what decides whether the service lives. */
@Injectable()
export class LargeNotes {
  private readonly slots = new Semaphore(LIMITS);
  private readonly own = new KeyedSemaphore(OF_ONE_USER);

  /**
   * Waits until `size` bytes of a user's note may be held. Resolves with what says that they no longer are. @throws
   * ServiceUnavailable
   */
  async acquire(userId: string, size: number): Promise<() => void> {
    if (size <= LARGE_NOTE_BYTES) return () => undefined;
    const held = [await this.own.take(userId)];
    const leave = (): void => held.splice(0).forEach((giveBack) => giveBack());
    try {
      held.push(await this.slots.take());
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }
}
