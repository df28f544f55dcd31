import type { KeySlot } from '../workspaces/key-slots/index.js';
import { checkPasswordKdf, KdfRefused, type PasswordKdf } from './key-slot-crypto.js';

/** A slot that the service derives a password for. */
export interface AffordableSlot {
  readonly slot: KeySlot;
  readonly kdf: PasswordKdf;
  /** In iterations of PBKDF2. */
  readonly cost: number;
}

/** What one pass over one KiB by Argon2id takes, in iterations of PBKDF2. */
const PER_KIB_AND_PASS = 14;

/**
 * In iterations of PBKDF2, of which a core does some six million a second. A slot holds a thread for a second at most, a
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
