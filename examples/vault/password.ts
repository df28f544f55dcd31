import { randomUUID } from 'node:crypto';
import { ApiError } from '../sync-folder/http.js';
import type { KeySlot, KeySlots } from './key-slots.js';
import { opening, type Unlocked, unlockByPassword, WrongSecret } from './unlock.js';

/** How a change of the password ended. */
export interface Changed {
  /** Slots of other passwords, which still open the vault. */
  readonly others: number;
  /** Whether another device has just written a slot of the old password again, so that it still opens the vault. */
  readonly isOldLeft: boolean;
}

/**
 * Gives a vault a new password: first the new slot, then away with those that the old password opens, and with no
 * other. Nothing is deleted that was not listed before the new slot was stored, so of two devices that do this at once
 * neither deletes the other's. Safe to repeat after a crash or a lost answer, with the same two passwords.
 *
 * @param whenAdded called when the new password opens the vault, before anything is deleted: from now on it is the one
 * to remember
 * @throws WrongSecret when neither password opens the vault
 */
export async function changePassword(
  slots: KeySlots,
  { old, fresh }: { readonly old: string; readonly fresh: string },
  whenAdded: () => void = () => undefined,
): Promise<Changed> {
  if (old.normalize('NFKC') === fresh.normalize('NFKC'))
    throw new Error('the new password is the same as the old one');
  const vault = await withSlots(await unlockOne(slots, old, fresh), old);
  const outdated = (await opening(slots, vault.listed, old)).map(({ slot }) => slot);
  const freshId = await addPassword(vault, fresh);
  whenAdded();
  let isOldLeft = false;
  for (const slot of outdated) if (!(await slots.delete(slot, vault.proof))) isOldLeft = true;
  const isOther = ({ id, kind }: KeySlot): boolean =>
    kind === 'password' && id !== freshId && outdated.every((slot) => slot.id !== id);
  return { others: vault.listed.filter(isOther).length, isOldLeft };
}

/**
 * Adds a password. One that opens the vault already is written again, so that no device that has listed it before
 * deletes it. @returns the id of its slot
 */
export async function addPassword(vault: Unlocked, password: string): Promise<string> {
  const { slots, masterKey, proof } = vault;
  const [present] = await opening(slots, vault.listed, password, { count: 1 });
  const slotId = present?.slot.id ?? randomUUID();
  const slot = await slots.crypto.makePasswordSlot(slots.place(slotId), masterKey, password);
  await slots.put(slotId, slot, proof);
  return slotId;
}

/**
 * Gives a vault from before there were slots its first one, for the password that has just opened it. Two devices may
 * do so at once: both slots open, and `changePassword` removes both. Clients that know no slots go on deriving, because
 * the master key stays the same. A service that refuses (a token without the scope, maintenance) is asked again the
 * next time.
 */
export async function adoptSlots(vault: Unlocked, password: string): Promise<void> {
  if (vault.openedBy) return;
  try {
    await addPassword(vault, password);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}

/**
 * In a vault without password slots the first one takes the place of the derivation. So it has to be one of the old
 * password: the new one may not be known to be stored yet when the device stops.
 */
async function withSlots(vault: Unlocked, old: string): Promise<Unlocked> {
  if (vault.openedBy) return vault;
  await addPassword(vault, old);
  return unlockByPassword(vault.slots, old);
}

/** The new password is tried second: the change may have been made by an attempt whose end was not seen. */
async function unlockOne(slots: KeySlots, old: string, fresh: string): Promise<Unlocked> {
  try {
    return await unlockByPassword(slots, old);
  } catch (error) {
    if (!(error instanceof WrongSecret)) throw error;
    return await unlockByPassword(slots, fresh).catch(() => {
      throw error;
    });
  }
}
