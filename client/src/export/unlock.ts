import {
  DecryptionError,
  deriveMasterKey,
  deriveVaultKeys,
  KdfRefused,
  openPasswordSlot,
  openRecoverySlot,
  parseRecoveryKey,
  type SlotPlace,
  type VaultKeys,
  verificationHash,
} from '../core/index.js';
import type { ExportedSlot, ExportedWorkspace } from './workspace.js';

/** The secret with which vaults are opened. */
export type ExportSecret =
  | { readonly kind: 'password'; readonly password: string }
  | { readonly kind: 'recovery'; readonly key: Uint8Array };

/** @throws RecoveryKeyTypo when the text is not a recovery key */
export async function exportSecret(typed: string, isRecoveryKey: boolean): Promise<ExportSecret> {
  return isRecoveryKey
    ? { kind: 'recovery', key: await parseRecoveryKey(typed) }
    : { kind: 'password', password: typed };
}

/** By the key slots; from the password itself where there is no password slot. Undefined: the secret is of another vault. */
export async function keysOf(
  { facts, slots }: ExportedWorkspace,
  secret: ExportSecret,
): Promise<VaultKeys | undefined> {
  const { id, encryptionSalt, verificationSalt, verificationHash: expected } = facts;
  if (encryptionSalt === null || verificationSalt === null) return undefined;
  const isKey = async (masterKey: Uint8Array): Promise<boolean> =>
    (await verificationHash(masterKey, verificationSalt)) === expected;
  const candidates = slots.filter(({ kind }) => kind === secret.kind);
  for (const slot of candidates) {
    const masterKey = await opened({ workspaceId: id, slotId: slot.id }, slot, secret);
    if (masterKey && (await isKey(masterKey))) return deriveVaultKeys(masterKey);
  }
  if (secret.kind !== 'password' || candidates.length > 0) return undefined;
  const masterKey = await deriveMasterKey(secret.password, encryptionSalt);
  return (await isKey(masterKey)) ? deriveVaultKeys(masterKey) : undefined;
}

async function opened(
  place: SlotPlace,
  slot: ExportedSlot,
  secret: ExportSecret,
): Promise<Uint8Array | undefined> {
  try {
    return secret.kind === 'password'
      ? await openPasswordSlot(place, slot, secret.password)
      : await openRecoverySlot(place, slot, secret.key);
  } catch (error) {
    if (error instanceof DecryptionError || error instanceof KdfRefused) return undefined;
    throw error;
  }
}
