import {
  KdfRefused,
  openPasswordSlot,
  openRecoverySlot,
  parseRecoveryKey,
  type SlotPlace,
} from '../../src/automation/key-slot-crypto.js';
import {
  DecryptionError,
  deriveMasterKey,
  deriveVaultKeys,
  type VaultKeys,
  verificationHash,
} from '../../src/automation/vault-crypto.js';
import type { ExportedSlot, Workspace } from './workspace.js';

/** The secret with which a vault is opened. */
export type Secret =
  | { readonly kind: 'password'; readonly password: string }
  | { readonly kind: 'recovery'; readonly key: Buffer };

/** @throws RecoveryKeyTypo when the text is not a recovery key */
export function secretOf(typed: string, isRecoveryKey: boolean): Secret {
  return isRecoveryKey
    ? { kind: 'recovery', key: parseRecoveryKey(typed) }
    : { kind: 'password', password: typed };
}

/** By the key slots; from the password itself where there is no password slot. Undefined: the secret is of another vault. */
export async function keysOf(workspace: Workspace, secret: Secret): Promise<VaultKeys | undefined> {
  const { id, encryptionSalt, verificationSalt, verificationHash: expected } = workspace.facts;
  if (encryptionSalt === null || verificationSalt === null) return undefined;
  const slots = workspace.slots.filter(({ kind }) => kind === secret.kind);
  for (const slot of slots) {
    const masterKey = await opened({ workspaceId: id, slotId: slot.id }, slot, secret);
    if (masterKey && verificationHash(masterKey, verificationSalt) === expected)
      return deriveVaultKeys(masterKey);
  }
  if (secret.kind !== 'password' || slots.length > 0) return undefined;
  const masterKey = await deriveMasterKey(secret.password, encryptionSalt);
  return verificationHash(masterKey, verificationSalt) === expected ? deriveVaultKeys(masterKey) : undefined;
}

async function opened(place: SlotPlace, slot: ExportedSlot, secret: Secret): Promise<Buffer | undefined> {
  try {
    return secret.kind === 'password'
      ? await openPasswordSlot(place, slot, secret.password)
      : openRecoverySlot(place, slot, secret.key);
  } catch (error) {
    if (error instanceof DecryptionError || error instanceof KdfRefused) return undefined;
    throw error;
  }
}
