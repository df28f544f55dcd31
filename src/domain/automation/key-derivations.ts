import { Injectable } from '@nestjs/common';
import { HashingBusy, PasswordHasher } from '../auth/index.js';
import { ServiceUnavailable } from '../../platform/http/index.js';
import { type FairSemaphore, Queues } from '../../platform/limits/index.js';
import type { PasswordKdf } from './key-slot-crypto.js';

const BUSY = 'too many key sessions are being opened';
const RETRY_AFTER_S = 5;

/**
 * Each derivation occupies one of libuv's four threads, which file I/O also needs, for up to a second. Attempts are
 * rate-limited per workspace, and a user may have many workspaces.
 */
const LIMITS = {
  atOnce: 2,
  waiting: 64,
  perOwner: { atOnce: 1, waiting: 16 },
  waitMs: 10_000,
  busy: BUSY,
};

/** All of them together take turns with the networks that sign in, as if they were one network. */
const AMONG_SIGN_INS = 'key derivations';

/**
 * The queue of derivations from vault passwords, fair by user. One that needs much memory also takes a slot of the hashes
 * of sign-ins, so both together never need more memory than sign-ins alone.
 */
@Injectable()
export class KeyDerivations {
  private readonly slots: FairSemaphore;

  constructor(
    private readonly hasher: PasswordHasher,
    queues: Queues,
  ) {
    this.slots = queues.open('key_derivations', LIMITS);
  }

  /**
   * Runs one derivation when it is its turn.
   * @throws ServiceUnavailable when too many wait or its turn does not come in time; nothing was derived then
   */
  run<T>(userId: string, name: PasswordKdf['name'], derive: () => Promise<T>): Promise<T> {
    return this.slots.during(userId, () => (name === 'argon2id' ? this.inMemorySlot(derive) : derive()));
  }

  private async inMemorySlot<T>(derive: () => Promise<T>): Promise<T> {
    try {
      return await this.hasher.inSlot(AMONG_SIGN_INS, derive);
    } catch (error) {
      if (error instanceof HashingBusy) throw new ServiceUnavailable(BUSY, RETRY_AFTER_S);
      throw error;
    }
  }
}
