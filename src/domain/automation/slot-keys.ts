import { Injectable } from '@nestjs/common';
import { createHash, randomBytes } from 'node:crypto';
import {
  checkPasswordKdf,
  DecryptionError,
  deriveMasterKey,
  KdfRefused,
  openPasswordSlot,
  openRecoverySlot,
  type PasswordKdf,
} from '../../../crypto/src/index.js';
import { Conflict, Forbidden, ServiceUnavailable } from '../../platform/http/index.js';
import { type FairSemaphore, Queues } from '../../platform/limits/index.js';
import { HashingBusy, PasswordHasher } from '../auth/index.js';
import { type KeySlot, KeySlots } from '../workspaces/key-slots/index.js';
import { aead, hkdf, PRIMITIVES } from './wipeable-keys.js';

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

/** The owner of all derivations in the sign-in queue, which is fair by network: together they count as one network. */
const AMONG_SIGN_INS = 'key derivations';

/**
 * The queue of derivations from vault passwords, fair by user. A derivation that needs much memory also takes a slot of the
 * hashes of sign-ins, so both together never need more memory than sign-ins alone.
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

/** A slot for which the service derives a key from the password. */
export interface AffordableSlot {
  readonly slot: KeySlot;
  readonly kdf: PasswordKdf;
  /** In iterations of PBKDF2. */
  readonly cost: number;
}

/** The cost of one Argon2id pass over one KiB, in iterations of PBKDF2. */
const PER_KIB_AND_PASS = 14;

/**
 * In iterations of PBKDF2; a core does about six million per second. So a slot holds a thread for at most one second, and a
 * request for two. Four slots with the parameters of new slots fit.
 */
const MOST_PER_SLOT = 6_000_000;
const MOST_PER_REQUEST = 12_000_000;

/**
 * Chooses the password slots that one request tries: the cheapest first, as many as fit the budget, so a costly slot does
 * not keep the others from opening. `left` counts those that are not tried. Does no work.
 */
export function affordable(slots: readonly KeySlot[]): { tried: readonly AffordableSlot[]; left: number } {
  const passwords = slots.filter(({ kind }) => kind === 'password');
  const usable = passwords.flatMap(usableOf).sort((one, other) => one.cost - other.cost);
  let spent = 0;
  const tried = usable.filter(({ cost }) => (spent += cost) <= MOST_PER_REQUEST);
  return { tried, left: passwords.length - tried.length };
}

function usableOf(slot: KeySlot): AffordableSlot[] {
  try {
    const kdf = checkPasswordKdf(slot.kdf);
    const cost = costOf(kdf);
    return cost > MOST_PER_SLOT ? [] : [{ slot, kdf, cost }];
  } catch (error) {
    if (error instanceof KdfRefused) return [];
    throw error;
  }
}

const costOf = (kdf: PasswordKdf): number =>
  kdf.name === 'argon2id' ? kdf.memoryKiB * kdf.passes * PER_KIB_AND_PASS : kdf.iterations;

/** A vault that is being opened. */
export interface LockedVault {
  readonly workspaceId: string;
  /** The user in whose turn the derivation runs. */
  readonly userId: string;
  readonly encryptionSalt: string;
  /** Whether a key is the master key. */
  readonly isMasterKey: (key: Uint8Array) => Promise<boolean>;
}

/** Opens vaults by their key slots. The caller wipes the master keys that it returns. */
@Injectable()
export class SlotKeys {
  constructor(
    private readonly keySlots: KeySlots,
    private readonly derivations: KeyDerivations,
  ) {}

  /**
   * Tries the password slots that the budget allows. In a vault without password slots, the password has never been changed, and
   * its derivation is the master key.
   * @throws Forbidden when the password is wrong, Conflict when it opens none of the slots that were tried and others were left,
   * ServiceUnavailable when too many derivations wait
   */
  async byPassword(vault: LockedVault, password: string): Promise<Uint8Array> {
    const { slots } = await this.keySlots.list(vault.workspaceId);
    const { tried, left } = affordable(slots);
    const key =
      tried.length + left === 0
        ? await this.derived(vault, password)
        : await this.firstOf(vault, tried, password);
    if (key) return key;
    if (left === 0) throw new Forbidden('the password is wrong');
    throw new Conflict(
      'the password opens none of the key slots that were tried; others have parameters that the service refuses: ' +
        'send recoveryKey or key',
    );
  }

  /**
   * Tries the recovery slots.
   * @throws Conflict when there is none, Forbidden when the recovery key opens none
   */
  async byRecoveryKey(vault: LockedVault, recoveryKey: Uint8Array): Promise<Uint8Array> {
    const { slots } = await this.keySlots.list(vault.workspaceId);
    const recovery = slots.filter(({ kind }) => kind === 'recovery');
    if (recovery.length === 0) throw new Conflict('the workspace has no recovery key');
    for (const slot of recovery) {
      const open = (): Promise<Uint8Array> =>
        openRecoverySlot(placeOf(vault, slot), slot, recoveryKey, PRIMITIVES);
      const key = await opened(vault, open);
      if (key) return key;
    }
    throw new Forbidden('the recovery key is wrong');
  }

  private async firstOf(
    vault: LockedVault,
    tried: readonly AffordableSlot[],
    password: string,
  ): Promise<Uint8Array | undefined> {
    for (const { slot, kdf } of tried) {
      const open = (): Promise<Uint8Array> =>
        openPasswordSlot(placeOf(vault, slot), slot, password, PRIMITIVES);
      const key = await opened(vault, () => this.derivations.run(vault.userId, kdf.name, open));
      if (key) return key;
    }
    return undefined;
  }

  private derived(vault: LockedVault, password: string): Promise<Uint8Array | undefined> {
    const derive = (): Promise<Uint8Array> => deriveMasterKey(password, vault.encryptionSalt, PRIMITIVES);
    return opened(vault, () => this.derivations.run(vault.userId, 'pbkdf2-sha256', derive));
  }
}

/** Undefined when the slot does not open, or holds another key than the vault's master key. */
async function opened(vault: LockedVault, open: () => Promise<Uint8Array>): Promise<Uint8Array | undefined> {
  try {
    return await ifMasterKey(vault, await open());
  } catch (error) {
    if (error instanceof DecryptionError || error instanceof KdfRefused) return undefined;
    throw error;
  }
}

/** The key, or undefined when it is not the vault's master key; then it is wiped. */
export async function ifMasterKey(
  { isMasterKey }: LockedVault,
  key: Uint8Array,
): Promise<Uint8Array | undefined> {
  let isRight = false;
  try {
    isRight = await isMasterKey(key);
  } finally {
    if (!isRight) key.fill(0);
  }
  return isRight ? key : undefined;
}

const placeOf = ({ workspaceId }: LockedVault, { id }: KeySlot): { workspaceId: string; slotId: string } => ({
  workspaceId,
  slotId: id,
});

/** `ks_` and 43 base64url characters: the value that a client sends in `X-Key-Session`. */
const TOKEN = /^ks_[A-Za-z0-9_-]{43}$/;

const NONCE_BYTES = 12;

/** The identity that a wrapped key is bound to: copied into another row, it does not unwrap. */
export interface Binding {
  readonly id: string;
  readonly userId: string;
  readonly workspaceId: string;
}

export function generateToken(): string {
  return `ks_${randomBytes(32).toString('base64url')}`;
}

export function isToken(text: unknown): text is string {
  return typeof text === 'string' && TOKEN.test(text);
}

/** The stored form of a token, used to look up its session. It has no salt, which 32 random bytes do not need. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Wraps the key with a key derived from the token only. The result is nonce, ciphertext, tag. */
export function wrapKey(token: string, binding: Binding, key: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const box = { nonce, associated: associated(binding) };
  return Buffer.concat([nonce, withWrappingKey(token, (wrappingKey) => aead.seal(wrappingKey, box, key))]);
}

/** @throws Error when the key was wrapped with another token or binding, or was altered */
export function unwrapKey(token: string, binding: Binding, wrapped: Buffer): Uint8Array {
  const box = { nonce: wrapped.subarray(0, NONCE_BYTES), associated: associated(binding) };
  const sealed = wrapped.subarray(NONCE_BYTES);
  const key = withWrappingKey(token, (wrappingKey) => aead.open(wrappingKey, box, sealed));
  if (!key) throw new Error('the key does not unwrap');
  return key;
}

function withWrappingKey<T>(token: string, use: (wrappingKey: Uint8Array) => T): T {
  // The stored hash is a plain SHA-256 of the token, while this is an HMAC: neither reveals anything about the other.
  const wrappingKey = hkdf(Buffer.from(token), { info: 'key session', length: 32 });
  try {
    return use(wrappingKey);
  } finally {
    wrappingKey.fill(0);
  }
}

function associated({ id, userId, workspaceId }: Binding): Buffer {
  return Buffer.from(`${id} ${userId} ${workspaceId}`, 'ascii');
}
