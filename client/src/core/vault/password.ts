import type { PasswordKdf } from '../crypto/index.js';
import { ApiError } from '../http/index.js';
import type { KeySlot, KeySlots } from './key-slots.js';
import { openingSlots, unlock, type Unlocked, WrongSecret } from './unlock.js';

/** How a change of the password ended. */
export interface PasswordChanged {
  /** Slots of other passwords, which still open the vault. */
  readonly others: number;
  /** The old password still opens it: another device has written it meanwhile, or the service has kept it. Repeat. */
  readonly isOldLeft: boolean;
}

export interface PasswordChange {
  readonly old: string;
  readonly fresh: string;
  /** Whether the vault is known to have slots. */
  readonly hasSlots?: boolean;
  /** Called when the new password opens the vault, before anything is deleted: from now on it is the one to remember. */
  readonly whenAdded?: () => void;
  /** Parameters of the new slot, each time with a new salt. */
  readonly kdf?: (() => PasswordKdf) | undefined;
}

/**
 * Gives a vault a new password: first the new slot, then away with those that the old password opens, and with no other.
 * Nothing is deleted that was not listed before the new slot was stored, so of two devices that do this at once neither
 * deletes the other's. It may be repeated after a crash or a lost answer, with the same two passwords.
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
  // The others are known not to open with it, unless they have been replaced.
  const isKnown = ({ id, updatedAt }: KeySlot): boolean =>
    id === freshId || others.some((slot) => slot.id === id && slot.updatedAt === updatedAt);
  const unknown = (await slots.list()).slots.filter((slot) => !isKnown(slot));
  return { others: others.length, isOldLeft: (await openingSlots(slots, unknown, old, 1)).length > 0 };
}

/**
 * Adds a password. One that opens the vault already is written again, so that no device that has listed it before
 * deletes it. @returns the id of its slot
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
 * Gives a vault of before its first slot, for the password that has just opened it. Two devices may do so at once: both
 * slots open. A service that refuses (a token without the scope, maintenance) is asked again the next time.
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

/** The new password is tried second: the change may have been made by an attempt whose end was not seen. */
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
 * In a vault of before, the first slot takes the place of the derivation. So it has to be one of the password that opens
 * the vault: it is not sure that the slot of another one has been stored when this device stops.
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
