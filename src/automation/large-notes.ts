import { Injectable } from '@nestjs/common';
import { Slots } from '../platform/limits/index.js';

/** Plaintext bytes from which on a note is large. */
export const LARGE_NOTE_BYTES = 1024 * 1024;

/** A large note is in memory several times over while it is encrypted, decrypted or sent. */
const LIMITS = { atOnce: 3, waiting: 16, waitMs: 10_000, busy: 'too many large notes at a time' };

/** What a client sends or takes in slowly must not keep everybody else out. */
const OF_ONE_USER = { ...LIMITS, atOnce: 2 };

/** Keeps the large notes that are in memory few, so that their number is not what decides whether the service lives. */
@Injectable()
export class LargeNotes {
  private readonly slots = new Slots(LIMITS);
  /** Of each user who has a large note, or waits for its place. */
  private readonly own = new Map<string, { readonly slots: Slots; notes: number }>();

  /**
   * To be called before `size` bytes of a user's note are held. Resolves with what says that they no longer are.
   * @throws ServiceUnavailable
   */
  async enter(userId: string, size: number): Promise<() => void> {
    if (size <= LARGE_NOTE_BYTES) return () => undefined;
    const own = this.own.get(userId) ?? { slots: new Slots(OF_ONE_USER), notes: 0 };
    this.own.set(userId, own);
    own.notes++;
    const forget = (): void => {
      if (--own.notes === 0) this.own.delete(userId);
    };
    const held = [forget];
    const leave = (): void => held.splice(0).forEach((giveBack) => giveBack());
    try {
      held.push(await own.slots.take());
      held.push(await this.slots.take());
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }
}
