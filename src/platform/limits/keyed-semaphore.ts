import { type SlotLimits, Semaphore } from './semaphore.js';

/**
 * A semaphore for each owner. Taken before the one of all, it keeps an owner who wants much from filling the queue in
 * front of everybody else.
 */
export class KeyedSemaphore {
  /** Of each who has a slot, or waits for one. */
  private readonly owners = new Map<string, { readonly slots: Semaphore; takers: number }>();

  constructor(private readonly limits: SlotLimits) {}

  /** How many owners have a slot, or wait for one. */
  get size(): number {
    return this.owners.size;
  }

  /** Resolves with what gives the slot back; to call that again does nothing. @throws ServiceUnavailable */
  async take(owner: string): Promise<() => void> {
    const own = this.owners.get(owner) ?? { slots: new Semaphore(this.limits), takers: 0 };
    this.owners.set(owner, own);
    own.takers++;
    const forget = (): void => {
      if (--own.takers === 0) this.owners.delete(owner);
    };
    try {
      const giveBack = await own.slots.take();
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        giveBack();
        forget();
      };
    } catch (error) {
      forget();
      throw error;
    }
  }

  /** Does work with a slot. @throws ServiceUnavailable */
  async during<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const giveBack = await this.take(owner);
    try {
      return await work();
    } finally {
      giveBack();
    }
  }
}
