import { dataOf, type Session } from '../api/index.js';
import {
  deriveVaultKeys,
  makePasswordSlot,
  newMasterKey,
  newPasswordKdf,
  type Passkey,
  type PasswordKdf,
  type VaultKeys,
  verificationHash,
} from '../crypto/index.js';
import { type KeySlot, KeySlots } from './key-slots.js';
import {
  addPassword,
  adoptSlots,
  changePassword,
  type PasswordChange,
  type PasswordChanged,
} from './password.js';
import { addPasskey, draftRecoveryKey, passkeysIn, type RecoveryDraft, removeSlot } from './recovery.js';
import { type Secret, unlock, type Unlocked, WrongSecret } from './unlock.js';

export interface UnlockOptions {
  /**
   * Whether the vault is known to have slots: an earlier `hasSlots`, stored with the id of the workspace. It exposes a
   * service that hides the slots.
   */
  readonly hasSlots?: boolean;
}

/** An open vault: the keys of a workspace, and its key slots. */
export class Vault {
  private constructor(
    private readonly unlocked: Unlocked,
    /** Encrypt contents, paths, labels and assets. */
    readonly keys: VaultKeys,
    /** Store it, and pass it to `unlock` the next time. */
    readonly hasSlots: boolean,
  ) {}

  /**
   * Creates a workspace with a vault that one password opens. Do not use the workspace before this returns: until the first
   * slot is stored, nothing can open it. A crash leaves an empty workspace that nothing refers to.
   * @throws RangeError for an empty password
   */
  static async create(
    session: Session,
    name: string,
    password: string,
    { kdf = newPasswordKdf }: { readonly kdf?: () => PasswordKdf } = {},
  ): Promise<Vault> {
    if (password === '') throw new RangeError('the password must not be empty');
    const { id } = await dataOf(session.api.POST('/api/v1/workspaces', { body: { name } }));
    const slots = new KeySlots(session, id);
    const [masterKey, slotId] = [newMasterKey(), crypto.randomUUID()];
    const slot = await makePasswordSlot(slots.place(slotId), masterKey, password, kdf());
    const proof = await slots.setUp(masterKey);
    await slots.put(slotId, slot, proof);
    // The times are the service's, and are not needed before the slots are listed.
    const openedBy = { ...slot, id: slotId, label: null, createdAt: '', updatedAt: '' };
    const unlocked = { slots, listed: [openedBy], openedBy, masterKey, proof };
    return new Vault(unlocked, await deriveVaultKeys(masterKey), true);
  }

  /**
   * Opens a vault. Adds a slot to a vault that predates slots.
   * @throws WrongSecret when it opens nothing; KdfRefused when a slot has parameters that no client writes; RecoveryKeyTypo
   * for a mistyped recovery key; SlotsHidden
   */
  static async unlock(
    session: Session,
    workspaceId: string,
    secret: Secret,
    { hasSlots = false }: UnlockOptions = {},
  ): Promise<Vault> {
    const unlocked = await unlock(new KeySlots(session, workspaceId), secret, hasSlots);
    const hasOne = 'password' in secret ? await adoptSlots(unlocked, secret.password) : true;
    return new Vault(unlocked, await deriveVaultKeys(unlocked.masterKey), hasOne);
  }

  /**
   * Opens a vault with a stored master key (`exportMasterKey`). Slots cannot be removed then, because it is unknown which
   * one opened the vault. @throws WrongSecret when it is not the master key of this vault
   */
  static async withMasterKey(session: Session, workspaceId: string, masterKey: Uint8Array): Promise<Vault> {
    const slots = new KeySlots(session, workspaceId);
    const { slots: listed, verificationSalt } = await slots.list();
    const key = Uint8Array.from(masterKey);
    const proof = await verificationHash(key, verificationSalt);
    if (!(await slots.isMasterKey(proof))) throw new WrongSecret('the kept key is not that of this vault');
    const unlocked = { slots, listed, openedBy: undefined, masterKey: key, proof };
    return new Vault(unlocked, await deriveVaultKeys(key), listed.length > 0);
  }

  /** The key slots of a locked vault, oldest first. */
  static async slotsOf(session: Session, workspaceId: string): Promise<readonly KeySlot[]> {
    return (await new KeySlots(session, workspaceId).list()).slots;
  }

  /** The passkeys of a locked vault: ask one for its PRF, and unlock with the result. */
  static async passkeys(
    session: Session,
    workspaceId: string,
  ): Promise<(Passkey & { readonly slotId: string })[]> {
    return passkeysIn((await new KeySlots(session, workspaceId).list()).slots);
  }

  /** Replaces the password of a vault; the master key stays the same. See `changePassword`. */
  static changePassword(
    session: Session,
    workspaceId: string,
    change: PasswordChange,
  ): Promise<PasswordChanged> {
    return changePassword(new KeySlots(session, workspaceId), change);
  }

  get workspaceId(): string {
    return this.unlocked.slots.workspaceId;
  }

  /** The current key slots, oldest first. */
  async slots(): Promise<readonly KeySlot[]> {
    return (await this.unlocked.slots.list()).slots;
  }

  /** Adds a password, for example after a recovery. Others stay. @returns the id of its slot */
  addPassword(password: string, kdf?: () => PasswordKdf): Promise<string> {
    return addPassword(this.unlocked, password, kdf);
  }

  /** Makes a recovery key, which becomes valid once it has been typed. */
  draftRecoveryKey(): Promise<RecoveryDraft> {
    return draftRecoveryKey(this.unlocked);
  }

  /** Adds a passkey by its PRF result. @returns the id of its slot */
  addPasskey(passkey: Passkey, prfOutput: Uint8Array, label?: string): Promise<string> {
    return addPasskey(this.unlocked, passkey, prfOutput, label);
  }

  /** Deletes a slot, except the one that opened the vault. */
  async removeSlot(slotId: string): Promise<void> {
    await removeSlot({ ...this.unlocked, listed: await this.slots() }, slotId);
  }

  /** A copy of the master key, for storage on the device. Danger: it gives full access to the vault. */
  exportMasterKey(): Uint8Array {
    return this.unlocked.masterKey.slice();
  }

  /** Overwrites the master key. The keys derived from it stay usable as long as `keys` is referenced. */
  forget(): void {
    this.unlocked.masterKey.fill(0);
  }
}
