import type { PasswordKdf } from '../crypto/index.js';
import { ApiError } from '../http/index.js';
import type { KeySlot, KeySlots } from './key-slots.js';
import { openingSlots, unlock, type Unlocked, WrongSecret } from './unlock.js';

/** The result of a password change. */
export interface PasswordChanged {
  /** Number of slots with other passwords, which still open the vault. */
  readonly others: number;
  /** The old password still opens the vault: another device has added it, or the service kept its slot. Repeat. */
  readonly isOldLeft: boolean;
}

export interface PasswordChange {
  readonly old: string;
  readonly fresh: string;
  /** Whether the vault is known to have slots. */
  readonly hasSlots?: boolean;
  /** Called once the new password opens the vault, before anything is deleted: the user has to remember it from now on. */
  readonly whenAdded?: () => void;
  /** Parameters of the new slot, with a new salt on each call. */
  readonly kdf?: (() => PasswordKdf) | undefined;
}

/**
 * Replaces the password of a vault: first stores the new slot, then deletes exactly the slots that the old password opens.
 * Deletes only slots that were listed before the new one was stored, so two devices that change the password at once do not
 * delete each other's slot. Repeatable after a crash or a lost answer, with the same two passwords.
 * @throws WrongSecret when neither password opens the vault
 */
export async function changePassword(slots: KeySlots, change: PasswordChange): Promise<PasswordChanged> {
  const { old, fresh, whenAdded } = change;
  if (old.normalize('NFKC') === fresh.normalize('NFKC'))
    throw new RangeError('the new password is the same as the old one');
  const vault = await unlockByEither(slots, change);
  const outdated = (await openingSlots(slots, vault.listed, old)).map(({ slot }) => slot);
  const freshId = await addPassword(vault, fresh, change.kdf);
  whenAdded?.();
  for (const slot of outdated) await slots.delete(slot, vault.proof);
  const isOutdated = (id: string): boolean => outdated.some((slot) => slot.id === id);
  const others = vault.listed.filter(
    ({ id, kind }) => kind === 'password' && id !== freshId && !isOutdated(id),
  );
  // The other slots do not open with the old password, unless they have been replaced.
  const isKnown = ({ id, updatedAt }: KeySlot): boolean =>
    id === freshId || others.some((slot) => slot.id === id && slot.updatedAt === updatedAt);
  const unknown = (await slots.list()).slots.filter((slot) => !isKnown(slot));
  return { others: others.length, isOldLeft: (await openingSlots(slots, unknown, old, 1)).length > 0 };
}

/**
 * Adds a password. Rewrites the slot of a password that already opens the vault, so that no device that has listed the slot
 * before deletes it. @returns the id of its slot
 */
export async function addPassword(
  { slots, listed, masterKey, proof }: Unlocked,
  password: string,
  kdf?: () => PasswordKdf,
): Promise<string> {
  const [present] = await openingSlots(slots, listed, password, 1);
  const slotId = present?.slot.id ?? crypto.randomUUID();
  const slot = await slots.crypto.makePasswordSlot(slots.place(slotId), masterKey, password, kdf?.());
  await slots.put(slotId, slot, proof);
  return slotId;
}

/**
 * Adds the first slot to a vault that predates slots, for the password that has just opened it. If two devices do so at
 * once, both slots open. If the service refuses (a token without the scope, maintenance), the next unlock tries again.
 * @returns whether the vault has a password slot now
 */
export async function adoptSlots(vault: Unlocked, password: string): Promise<boolean> {
  if (vault.openedBy) return true;
  try {
    await addPassword(vault, password);
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

/** Tries the new password second, because an interrupted attempt may already have changed it. */
async function unlockByEither(slots: KeySlots, change: PasswordChange): Promise<Unlocked> {
  try {
    return await unlockWithSlots(slots, change.old, change);
  } catch (error) {
    if (!(error instanceof WrongSecret)) throw error;
    return await unlockWithSlots(slots, change.fresh, change).catch((other: unknown) => {
      throw other instanceof WrongSecret ? error : other;
    });
  }
}

/**
 * In a vault that predates slots, the first slot replaces the derivation. It has to be one for the password that opens the
 * vault: the slot of another one may not be stored when this device stops.
 */
async function unlockWithSlots(
  slots: KeySlots,
  password: string,
  { hasSlots = false, kdf }: PasswordChange,
): Promise<Unlocked> {
  const vault = await unlock(slots, { password }, hasSlots);
  if (vault.openedBy) return vault;
  await addPassword(vault, password, kdf);
  return unlock(slots, { password }, true);
}
