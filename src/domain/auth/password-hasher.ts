import { type DynamicModule, Injectable, Module } from '@nestjs/common';
import { availableParallelism } from 'node:os';
import { networkKey, ServiceUnavailable } from '../../platform/http/index.js';
import { type FairSemaphore, Queues } from '../../platform/limits/index.js';
import { identityRequests } from './identity-request.js';
import {
  deriveAndDiscard,
  isHashOf,
  isSameCost,
  makeHash,
  OUTDATED_COST,
  parseHash,
  PASSWORD_COST,
  type ScryptCost,
} from './password-hash.js';

/** Costs of new password hashes, and of outdated ones. */
export class PasswordCost {
  constructor(
    readonly scrypt: ScryptCost = PASSWORD_COST,
    readonly outdated: ScryptCost = OUTDATED_COST,
  ) {}
}

/** Passed in from outside, so that tests need not pay the cost hundreds of times; no setting changes it. */
@Module({})
export class PasswordCostModule {
  static with(cost = new PasswordCost()): DynamicModule {
    const providers = [{ provide: PasswordCost, useValue: cost }];
    return { module: PasswordCostModule, global: true, providers, exports: [PasswordCost] };
  }
}

/**
 * One for every two cores, and two at most (256 MiB). Half of the cores and two of the four libuv threads stay free for other
 * work, such as files and signing tokens.
 */
const AT_ONCE = Math.min(2, Math.max(1, Math.floor(availableParallelism() / 2)));

const WAIT_MS = 10_000;

/** What one hash takes, rather more than less: on a usual core 0.4 s. */
const HASH_MS = 500;

/** As many as one slot hashes within the longest wait: a call behind them would wait in vain. */
const IN_TIME = WAIT_MS / HASH_MS;

/** One network may fill the queue while no other waits; each call of another then takes the place of one of its calls. */
export const HASHING_LIMITS = {
  atOnce: AT_ONCE,
  waiting: IN_TIME * AT_ONCE,
  perOwner: { atOnce: 1, waiting: IN_TIME },
  waitMs: WAIT_MS,
  busy: 'too many people are signing in; try again in a few seconds',
};

const RETRY_AFTER_S = 5;

/** The queue for hashing is full; nothing was checked and nothing was counted. */
export class HashingBusy extends ServiceUnavailable {
  constructor() {
    super(HASHING_LIMITS.busy, RETRY_AFTER_S);
  }
}

/** The queue owner of the administrator's hashes. */
export const OPERATOR = 'operator';

/** The result of a password check. */
export interface Verdict {
  readonly isRight: boolean;
  /** A hash of the current cost, if the password is right and its hash has another cost. */
  readonly renewed: string | undefined;
}

/**
 * Hashes and checks passwords. Both cost much memory and time, so few run at once, fairly by network, and a call that cannot
 * start soon is refused early. A caller must not hold a database connection meanwhile.
 */
@Injectable()
export class PasswordHasher {
  private readonly slots: FairSemaphore;

  constructor(
    private readonly cost: PasswordCost,
    queues: Queues,
  ) {
    this.slots = queues.open('passwords', HASHING_LIMITS);
  }

  /** How many calls wait for a slot. */
  get queued(): number {
    return this.slots.queued;
  }

  /**
   * Runs work in a slot of the address's network.
   * @throws HashingBusy when no slot becomes free soon, or when the client disconnects before
   */
  async inSlot<T>(ip: string, work: () => Promise<T>): Promise<T> {
    const release = await this.slots.take(networkKey(ip), identityRequests.getStore()?.gone).catch(() => {
      throw new HashingBusy();
    });
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Creates a hash. @throws HashingBusy */
  hash(password: string, ip: string): Promise<string> {
    return this.inSlot(ip, () => makeHash(password, this.cost.scrypt));
  }

  /**
   * Checks a password against a stored hash. A wrong password takes the same time whatever the cost of the hash, and the same as
   * `refuse`. @throws HashingBusy
   */
  verify(password: string, hash: string, ip: string): Promise<Verdict> {
    const stored = parseHash(hash);
    const isCurrent = isSameCost(stored.cost, this.cost.scrypt);
    return this.inSlot(ip, async () => {
      const isRight = await isHashOf(password, stored);
      if (isCurrent && !isRight) await deriveAndDiscard(password, this.cost.outdated);
      const made = isCurrent ? undefined : await makeHash(password, this.cost.scrypt);
      return { isRight, renewed: isRight ? made : undefined };
    });
  }

  /** Does the same work for an account that does not exist as for a wrong password. @throws HashingBusy */
  refuse(password: string, ip: string): Promise<void> {
    return this.inSlot(ip, async () => {
      await makeHash(password, this.cost.scrypt);
      await deriveAndDiscard(password, this.cost.outdated);
    });
  }
}
