import {
  checkKdf,
  isWrappedKey,
  KdfRefused,
  type KdfRefusal,
  type KeySlotKind,
} from '../automation/key-slot-crypto.js';

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

/** A slot as it is stored; `kdf` is JSON text. */
export interface SlotForm {
  readonly kind: KeySlotKind;
  readonly kdf: string;
  /** Base64. */
  readonly wrappedKey: string;
}

/** Whether a reader tries to open the slot. Earlier versions of the service stored slots that no reader opens. */
export function isOpenable({ kind, kdf, wrappedKey }: SlotForm): boolean {
  return isWrappedKey(wrappedKey) && kdfFault(kind, JSON.parse(kdf)) === undefined;
}
