import { type DynamicModule, Injectable, Module } from '@nestjs/common';
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { networkKey, ServiceUnavailable } from '../../platform/http/index.js';
import { type FairSemaphore, Queues } from '../../platform/limits/index.js';
import { identityRequests } from './identity-request.js';

/** Cost of one derivation: 128 × N × r bytes, and time proportional to N × r × p. */
export interface ScryptCost {
  /** N as a power of two. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

/** 128 MiB and about 0.4 s of one core. */
export const PASSWORD_COST: ScryptCost = { ln: 17, r: 8, p: 1 };

const KEY_BYTES = 64;

/** The old format, `salt:key`. The salt is the hex text itself, not the bytes that it encodes. */
const OUTDATED = /^([0-9a-f]+):([0-9a-f]{128})$/;
export const OUTDATED_COST: ScryptCost = { ln: 14, r: 16, p: 1 };

/** The PHC string format: the parameters come before the salt and the key. */
const FORMAT = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

/** A stored hash, parsed. */
export interface PasswordHash {
  readonly cost: ScryptCost;
  readonly salt: string | Buffer;
  readonly key: Buffer;
}

/** Parses a hash in any format that was ever stored. @throws for any other text */
export function parseHash(text: string): PasswordHash {
  const [, outdatedSalt, outdatedKey] = OUTDATED.exec(text) ?? [];
  if (outdatedSalt && outdatedKey)
    return { cost: OUTDATED_COST, salt: outdatedSalt, key: Buffer.from(outdatedKey, 'hex') };
  const [, ln, r, p, salt = '', key = ''] = FORMAT.exec(text) ?? [];
  if (!key) throw new Error('a stored password hash has an unknown format');
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) };
  return { cost, salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') };
}

/** Hashes a password with a new salt. */
export async function makeHash(password: string, cost: ScryptCost): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, { cost, salt, bytes: KEY_BYTES });
  const { ln, r, p } = cost;
  return `$scrypt$ln=${ln},r=${r},p=${p}$${unpadded(salt)}$${unpadded(key)}`;
}

export async function isHashOf(password: string, { cost, salt, key }: PasswordHash): Promise<boolean> {
  return timingSafeEqual(await derive(password, { cost, salt, bytes: key.length }), key);
}

/** Takes as long as checking a hash of this cost, and has no result. */
export async function deriveAndDiscard(password: string, cost: ScryptCost): Promise<void> {
  await derive(password, { cost, salt: 'none', bytes: KEY_BYTES });
}

export const isSameCost = (one: ScryptCost, other: ScryptCost): boolean =>
  one.ln === other.ln && one.r === other.r && one.p === other.p;

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

/** Runs in a libuv thread. Normalizes to NFKC, so that a password is the same from every keyboard. */
function derive(
  password: string,
  { cost: { ln, r, p }, salt, bytes }: { cost: ScryptCost; salt: string | Buffer; bytes: number },
): Promise<Buffer> {
  const N = 2 ** ln;
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, bytes, { N, r, p, maxmem: 256 * N * r }, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

/** Costs of new password hashes, and of outdated ones. */
export class PasswordCost {
  constructor(
    readonly scrypt: ScryptCost = PASSWORD_COST,
    readonly outdated: ScryptCost = OUTDATED_COST,
  ) {}
}

/** A module of its own, so that tests can inject a lower cost; no setting changes it. */
@Module({})
export class PasswordCostModule {
  static with(cost = new PasswordCost()): DynamicModule {
    const providers = [{ provide: PasswordCost, useValue: cost }];
    return { module: PasswordCostModule, global: true, providers, exports: [PasswordCost] };
  }
}

/**
 * Concurrent hashes: one for every two cores, at most two (256 MiB). Half of the cores and two of the four libuv threads stay
 * free for other work, such as files and signing tokens.
 */
const AT_ONCE = Math.min(2, Math.max(1, Math.floor(availableParallelism() / 2)));

const WAIT_MS = 10_000;

/** The time of one hash, rounded up: about 0.4 s on a usual core. */
const HASH_MS = 500;

/** The number of hashes that one slot makes within the longest wait; a call behind them would time out. */
const IN_TIME = WAIT_MS / HASH_MS;

/** One network may fill the queue while no other waits; a call from another network then replaces one of its calls. */
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
   * @throws HashingBusy when no slot becomes free soon, or when the client disconnects first
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

  /** @throws HashingBusy */
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

  /** Takes the same time for an account that does not exist as `verify` for a wrong password. @throws HashingBusy */
  refuse(password: string, ip: string): Promise<void> {
    return this.inSlot(ip, async () => {
      await makeHash(password, this.cost.scrypt);
      await deriveAndDiscard(password, this.cost.outdated);
    });
  }
}
