import { KdfRefused, openRecoverySlot, parseRecoveryKey } from '../../src/automation/key-slot-crypto.js';
import { DecryptionError, verificationHash } from '../../src/automation/vault-crypto.js';
import type { KeySlot, KeySlotList, KeySlots } from './key-slots.js';

/** As many as the service keeps. A service that lists more wants to keep the client busy. */
const MAX_SLOTS = 16;
const MAX_PASSWORD_SLOTS = 4;

/** A vault, and how it was opened. */
export interface Unlocked {
  readonly slots: KeySlots;
  /** As listed before it was opened. */
  readonly listed: readonly KeySlot[];
  /** Undefined: it has no password slot, and its master key is derived from the password. */
  readonly openedBy: KeySlot | undefined;
  readonly masterKey: Buffer;
  /** Proves to the service that its holder knows the master key. */
  readonly proof: string;
}

/** No key slot opens with this password or recovery key. */
export class WrongSecret extends Error {
  override readonly name = 'WrongSecret';
}

/**
 * Opens a vault with a password: by its password slots; without any, as clients did before there were slots.
 * @throws WrongSecret when it opens nothing; KdfRefused when it opens nothing and a slot could not be tried
 */
export async function unlockByPassword(slots: KeySlots, password: string): Promise<Unlocked> {
  const list = await listOf(slots);
  const passwordSlots = list.slots.filter(({ kind }) => kind === 'password');
  if (passwordSlots.length === 0) return unlockByDerivation(slots, list, password);
  let refused: KdfRefused | undefined;
  const [first] = await opening(slots, list.slots, password, {
    count: 1,
    whenRefused: (error) => (refused = error),
  });
  if (first) return unlocked(slots, list, first.masterKey, first.slot);
  throw refused ?? new WrongSecret('the vault password is wrong');
}

/**
 * The password slots that open with a password, at most `count`, with their keys.
 * @param whenRefused called for slots that are not tried: no client wrote such parameters
 */
export async function opening(
  slots: KeySlots,
  listed: readonly KeySlot[],
  password: string,
  { count = Infinity, whenRefused }: { count?: number; whenRefused?: (error: KdfRefused) => void } = {},
): Promise<{ slot: KeySlot; masterKey: Buffer }[]> {
  const found: { slot: KeySlot; masterKey: Buffer }[] = [];
  for (const slot of listed.filter(({ kind }) => kind === 'password')) {
    if (found.length >= count) break;
    try {
      const masterKey = await slots.crypto.openPasswordSlot(slots.place(slot.id), slot, password);
      found.push({ slot, masterKey });
    } catch (error) {
      if (error instanceof KdfRefused) whenRefused?.(error);
      else if (!(error instanceof DecryptionError)) throw error;
    }
  }
  return found;
}

/**
 * Opens a vault with a recovery key, as it was typed.
 * @throws RecoveryKeyTypo when it cannot be one, WrongSecret when it opens no recovery slot
 */
export async function unlockByRecoveryKey(slots: KeySlots, typed: string): Promise<Unlocked> {
  const recoveryKey = parseRecoveryKey(typed);
  try {
    const list = await listOf(slots);
    for (const slot of list.slots.filter(({ kind }) => kind === 'recovery')) {
      const masterKey = attempt(() => openRecoverySlot(slots.place(slot.id), slot, recoveryKey));
      if (masterKey) return unlocked(slots, list, masterKey, slot);
    }
    throw new WrongSecret('the recovery key is not one of this vault');
  } finally {
    recoveryKey.fill(0);
  }
}

function attempt(open: () => Buffer): Buffer | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof DecryptionError || error instanceof KdfRefused) return undefined;
    throw error;
  }
}

type SetUpList = KeySlotList & Record<'encryptionSalt' | 'verificationSalt', string>;

async function listOf(slots: KeySlots): Promise<SetUpList> {
  const list = await slots.list();
  if (list.encryptionSalt === null || list.verificationSalt === null)
    throw new Error('the encryption of this workspace has not been set up');
  const passwords = list.slots.filter(({ kind }) => kind === 'password');
  if (list.slots.length > MAX_SLOTS || passwords.length > MAX_PASSWORD_SLOTS)
    throw new Error('the service lists more key slots than a vault can have');
  return list as SetUpList;
}

/** Only the service can tell whether the key is right, so this is not safer than it is honest. */
async function unlockByDerivation(slots: KeySlots, list: SetUpList, password: string): Promise<Unlocked> {
  const masterKey = await slots.crypto.deriveMasterKey(password, list.encryptionSalt);
  const vault = unlocked(slots, list, masterKey, undefined);
  if (await slots.isMasterKey(vault.proof)) return vault;
  throw new WrongSecret('the vault password is wrong');
}

function unlocked(
  slots: KeySlots,
  list: SetUpList,
  masterKey: Buffer,
  openedBy: KeySlot | undefined,
): Unlocked {
  const proof = verificationHash(masterKey, list.verificationSalt);
  return { slots, listed: list.slots, openedBy, masterKey, proof };
}
