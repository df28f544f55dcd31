import {
  checkKdf,
  isWrappedKey,
  KdfRefused,
  type KdfRefusal,
  type KeySlotKind,
} from '../../automation/key-slot-crypto.js';
import type { StoredKeySlot } from './key-slot.entity.js';

export const KEY_SLOT_KINDS = ['password', 'recovery', 'passkey'] as const satisfies readonly KeySlotKind[];

/** Why a reader refuses `kdf` in a slot of this kind; undefined when it does not. */
export function kdfFault(kind: KeySlotKind, kdf: unknown): KdfRefusal | undefined {
  try {
    checkKdf(kind, kdf);
    return undefined;
  } catch (error) {
    if (error instanceof KdfRefused) return error.reason;
    throw error;
  }
}

/** Whether a reader tries to open the slot. Earlier versions of the service stored slots that no reader opens. */
export function isOpenable({ kind, kdf, wrappedKey }: StoredKeySlot): boolean {
  return isWrappedKey(wrappedKey.toString('base64')) && kdfFault(kind, JSON.parse(kdf)) === undefined;
}
