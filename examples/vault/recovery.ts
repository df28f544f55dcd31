import { randomUUID } from 'node:crypto';
import {
  formatRecoveryKey,
  generateRecoveryKey,
  makeRecoverySlot,
  parseRecoveryKey,
} from '../../src/automation/key-slot-crypto.js';
import type { KeySlot } from './key-slots.js';
import { type Unlocked, WrongSecret } from './unlock.js';

/** A recovery key that does not count yet. */
export interface RecoveryDraft {
  /** Shown once, to be written down. */
  readonly text: string;
  /**
   * Stores its slot, if what was typed is the key: one that nobody has copied correctly would be worse than none.
   * @throws RecoveryKeyTypo for text that is no recovery key, WrongSecret for another one; both can be tried again
   */
  confirm(typed: string): Promise<void>;
}

/** Makes a recovery key for an open vault. Others that the vault has stay valid. */
export function draftRecoveryKey({ slots, masterKey, proof }: Unlocked): RecoveryDraft {
  const key = generateRecoveryKey();
  const slotId = randomUUID();
  return {
    text: formatRecoveryKey(key),
    confirm: async (typed) => {
      if (!parseRecoveryKey(typed).equals(key)) throw new WrongSecret('this is another recovery key');
      await slots.put(slotId, makeRecoverySlot(slots.place(slotId), masterKey, key), proof);
      key.fill(0);
    },
  };
}

/**
 * Deletes a slot. @throws when the vault was opened by this very slot, or has no such slot, or it has been replaced
 * since it was listed
 */
export async function removeSlot(vault: Unlocked, slotId: string): Promise<void> {
  const slot = vault.listed.find(({ id }) => id === slotId.toLowerCase());
  if (!slot) throw new Error('the vault has no such key slot');
  if (!vault.openedBy || vault.openedBy.id === slot.id)
    throw new Error('open the vault by another key slot to delete this one');
  if (!(await vault.slots.delete(slot, vault.proof)))
    throw new Error('another device has just replaced this key slot: list them again');
}

/** For people: what kind of secret opens a slot, and since when. */
export const describe = ({ id, kind, updatedAt }: KeySlot): string => `${id}  ${kind}  ${updatedAt}`;
