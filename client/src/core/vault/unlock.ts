import {
  type Bytes,
  DecryptionError,
  KdfRefused,
  openPasskeySlot,
  openRecoverySlot,
  parseRecoveryKey,
  verificationHash,
} from '../crypto/index.js';
import type { KeySlot, KeySlotList, KeySlots } from './key-slots.js';

/** A secret that opens a vault. */
export type Secret =
  | { readonly password: string }
  /** As typed. */
  | { readonly recoveryKey: string }
  /** The passkey's result for the salt of the slot, by WebAuthn's extension `prf`. */
  | { readonly slotId: string; readonly prfOutput: Uint8Array };

/** No key slot opens with this secret. */
export class WrongSecret extends Error {
  override readonly name = 'WrongSecret';
}

/**
 * The service claims that a vault that is known to have slots has none. It could use that to guess the password, or to make
 * the client encrypt under a key that it knows. Nothing is derived from the password.
 */
export class SlotsHidden extends Error {
  override readonly name = 'SlotsHidden';

  constructor() {
    super('the service no longer returns the key slots of the vault');
  }
}

/** An open vault. */
export interface Unlocked {
  readonly slots: KeySlots;
  /** As listed before it was opened. */
  readonly listed: readonly KeySlot[];
  /** Undefined: the vault has no password slot, and its master key is derived from the password. */
  readonly openedBy: KeySlot | undefined;
  readonly masterKey: Bytes;
  /** Proves knowledge of the master key to the service. */
  readonly proof: string;
}

/**
 * @param hasSlots whether the vault is known to have slots
 * @throws WrongSecret when it opens nothing; KdfRefused when it opens nothing and a slot was not tried; RecoveryKeyTypo;
 * SlotsHidden
 */
export async function unlock(slots: KeySlots, secret: Secret, hasSlots: boolean): Promise<Unlocked> {
  if ('password' in secret) return unlockByPassword(slots, secret.password, hasSlots);
  if ('recoveryKey' in secret) return unlockByRecoveryKey(slots, secret.recoveryKey);
  const { slotId, prfOutput } = secret;
  const list = await slots.list();
  const candidates = list.slots.filter(({ id, kind }) => kind === 'passkey' && id === slotId);
  const open = (slot: KeySlot): Promise<Bytes> => openPasskeySlot(slots.place(slot.id), slot, prfOutput);
  return unlockBy(slots, list, candidates, open, 'the passkey is not one of this vault');
}

/** The slots that a password opens, with their keys. @param most how many to find */
export async function openingSlots(
  slots: KeySlots,
  listed: readonly KeySlot[],
  password: string,
  most = Infinity,
): Promise<{ readonly slot: KeySlot; readonly masterKey: Bytes }[]> {
  const candidates = listed.filter(({ kind }) => kind === 'password');
  const open = (slot: KeySlot): Promise<Bytes> =>
    slots.crypto.openPasswordSlot(slots.place(slot.id), slot, password);
  return (await opened(candidates, open, most)).found;
}

async function unlockByPassword(slots: KeySlots, password: string, hasSlots: boolean): Promise<Unlocked> {
  const list = await slots.list();
  const candidates = list.slots.filter(({ kind }) => kind === 'password');
  const open = (slot: KeySlot): Promise<Bytes> =>
    slots.crypto.openPasswordSlot(slots.place(slot.id), slot, password);
  if (candidates.length > 0) return unlockBy(slots, list, candidates, open, 'the vault password is wrong');
  if (hasSlots) throw new SlotsHidden();
  // The vault predates slots. Only the service can tell whether the key is right, so this trusts the service.
  const masterKey = await slots.crypto.deriveMasterKey(password, list.encryptionSalt);
  const vault = await unlocked(slots, list, masterKey, undefined);
  if (await slots.isMasterKey(vault.proof)) return vault;
  throw new WrongSecret('the vault password is wrong');
}

async function unlockByRecoveryKey(slots: KeySlots, typed: string): Promise<Unlocked> {
  const recoveryKey = await parseRecoveryKey(typed);
  try {
    const list = await slots.list();
    const candidates = list.slots.filter(({ kind }) => kind === 'recovery');
    const open = (slot: KeySlot): Promise<Bytes> => openRecoverySlot(slots.place(slot.id), slot, recoveryKey);
    return await unlockBy(slots, list, candidates, open, 'the recovery key is not one of this vault');
  } finally {
    recoveryKey.fill(0);
  }
}

async function unlockBy(
  slots: KeySlots,
  list: KeySlotList,
  candidates: readonly KeySlot[],
  open: (slot: KeySlot) => Promise<Bytes>,
  refusal: string,
): Promise<Unlocked> {
  const { found, refused } = await opened(candidates, open, 1);
  if (found[0]) return unlocked(slots, list, found[0].masterKey, found[0].slot);
  throw refused ?? new WrongSecret(refusal);
}

/** Skips malformed slots, so that one of them does not hide the others. */
async function opened(
  candidates: readonly KeySlot[],
  open: (slot: KeySlot) => Promise<Bytes>,
  most: number,
): Promise<{ found: { slot: KeySlot; masterKey: Bytes }[]; refused: KdfRefused | undefined }> {
  const found: { slot: KeySlot; masterKey: Bytes }[] = [];
  let refused: KdfRefused | undefined;
  for (const slot of candidates) {
    if (found.length >= most) break;
    try {
      found.push({ slot, masterKey: await open(slot) });
    } catch (error) {
      if (error instanceof KdfRefused) refused = error;
      else if (!(error instanceof DecryptionError)) throw error;
    }
  }
  return { found, refused };
}

async function unlocked(
  slots: KeySlots,
  { slots: listed, verificationSalt }: KeySlotList,
  masterKey: Bytes,
  openedBy: KeySlot | undefined,
): Promise<Unlocked> {
  return { slots, listed, openedBy, masterKey, proof: await verificationHash(masterKey, verificationSalt) };
}
