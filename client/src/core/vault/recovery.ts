import {
  formatRecoveryKey,
  generateRecoveryKey,
  makePasskeySlot,
  makeRecoverySlot,
  parseRecoveryKey,
  type Passkey,
  passkeyOf,
} from '../crypto/index.js';
import type { KeySlot } from './key-slots.js';
import { type Unlocked, WrongSecret } from './unlock.js';

/** A recovery key that is not valid yet. */
export interface RecoveryDraft {
  /** Show it once, to be written down. */
  readonly text: string;
  /**
   * Stores the slot if the typed text is the key: a key that was copied incorrectly would be worse than none.
   * @throws RecoveryKeyTypo for a mistyped recovery key, WrongSecret for another recovery key; the user can try again after both
   */
  confirm(typed: string): Promise<void>;
}

/** Makes a recovery key. Existing ones stay valid. */
export async function draftRecoveryKey({ slots, masterKey, proof }: Unlocked): Promise<RecoveryDraft> {
  const key = generateRecoveryKey();
  const text = await formatRecoveryKey(key);
  const slotId = crypto.randomUUID();
  const confirm = async (typed: string): Promise<void> => {
    const copied = await parseRecoveryKey(typed);
    if ((await formatRecoveryKey(copied)) !== text) throw new WrongSecret('this is another recovery key');
    await slots.put(slotId, await makeRecoverySlot(slots.place(slotId), masterKey, copied), proof);
    for (const used of [key, copied]) used.fill(0);
  };
  return { text, confirm };
}

/** Adds a passkey by its PRF result. @returns the id of its slot */
export async function addPasskey(
  { slots, masterKey, proof }: Unlocked,
  passkey: Passkey,
  prfOutput: Uint8Array,
  label?: string,
): Promise<string> {
  const slotId = crypto.randomUUID();
  const slot = await makePasskeySlot(slots.place(slotId), masterKey, prfOutput, passkey);
  await slots.put(slotId, slot, proof, label);
  return slotId;
}

/** The passkeys of the listed slots. Malformed slots are skipped. */
export function passkeysIn(listed: readonly KeySlot[]): (Passkey & { readonly slotId: string })[] {
  return listed.flatMap(({ id: slotId, kind, kdf }) => {
    if (kind !== 'passkey') return [];
    try {
      return [{ slotId, ...passkeyOf(kdf) }];
    } catch {
      return [];
    }
  });
}

/**
 * Deletes a slot. @throws for the slot that opened the vault, which may be its only one; when the slot does not exist; when
 * it has been replaced since it was listed
 */
export async function removeSlot(
  { slots, listed, openedBy, proof }: Unlocked,
  slotId: string,
): Promise<void> {
  const slot = listed.find(({ id }) => id === slotId.toLowerCase());
  if (!slot) throw new Error('the vault has no such key slot');
  if (!openedBy || openedBy.id === slot.id)
    throw new Error('open the vault by another key slot to delete this one');
  if (!(await slots.delete(slot, proof)))
    throw new Error('another device has just replaced this key slot: list them again');
}
