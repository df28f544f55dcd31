import {
  decryptAssetName,
  DecryptionError,
  decryptPath,
  deriveMasterKey,
  deriveVaultKeys,
  InvalidPathError,
  KdfRefused,
  openPasswordSlot,
  openRecoverySlot,
  parseRecoveryKey,
  type SlotPlace,
  type VaultKeys,
} from '../core/index.js';
import type { ExportedSlot, ExportedWorkspace } from './workspace.js';

/** A secret that opens vaults. */
export type ExportSecret =
  | { readonly kind: 'password'; readonly password: string }
  | { readonly kind: 'recovery'; readonly key: Uint8Array };

/** @throws RecoveryKeyTypo when the text is not a recovery key */
export async function exportSecret(typed: string, isRecoveryKey: boolean): Promise<ExportSecret> {
  return isRecoveryKey
    ? { kind: 'recovery', key: await parseRecoveryKey(typed) }
    : { kind: 'password', password: typed };
}

/**
 * Opens a key slot, or derives the keys from the password when there is no password slot. A slot may hold
 * the key of another vault, so the keys must decrypt part of the export, unless it is empty. @returns undefined when the secret
 * belongs to another vault
 */
export async function keysOf(
  workspace: ExportedWorkspace,
  secret: ExportSecret,
): Promise<VaultKeys | undefined> {
  const { facts, slots } = workspace;
  const { id, encryptionSalt } = facts;
  if (encryptionSalt === null) return undefined;
  const fitting = async (masterKey: Uint8Array): Promise<VaultKeys | undefined> => {
    const keys = await deriveVaultKeys(masterKey);
    return openSomething(keys, workspace) ? keys : undefined;
  };
  const candidates = slots.filter(({ kind }) => kind === secret.kind);
  for (const slot of candidates) {
    const masterKey = await opened({ workspaceId: id, slotId: slot.id }, slot, secret);
    const keys = masterKey && (await fitting(masterKey));
    if (keys) return keys;
  }
  if (secret.kind !== 'password' || candidates.length > 0) return undefined;
  return fitting(await deriveMasterKey(secret.password, encryptionSalt));
}

/** Whether the workspace can verify a secret: by a slot, or by decrypting a name. */
export const tellsSecrets = ({ files, assets, slots }: ExportedWorkspace): boolean =>
  files.length + assets.length + slots.length > 0;

/** Also true when there is nothing to decrypt. */
function openSomething(keys: VaultKeys, { files, assets }: ExportedWorkspace): boolean {
  if (files.length + assets.length === 0) return true;
  return (
    files.some(({ encryptedPath }) => opens(() => decryptPath(keys, encryptedPath))) ||
    assets.some(({ token }) => opens(() => decryptAssetName(keys, token)))
  );
}

/** A name that decrypts to an invalid path still proves the key. */
function opens(work: () => string): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (error instanceof DecryptionError) return false;
    if (error instanceof InvalidPathError) return true;
    throw error;
  }
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
