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

/** How a vault is opened. */
export interface UnlockOptions {
  /**
   * Whether the vault is known to have slots: `hasSlots` of an earlier time, to be kept with the id of the workspace. A
   * service that hides them is found out then.
   */
  readonly hasSlots?: boolean;
}

/** An open vault: the keys of a workspace, and what opens it. */
export class Vault {
  private constructor(
    private readonly unlocked: Unlocked,
    /** What contents, paths, labels and assets are encrypted with. */
    readonly keys: VaultKeys,
    /** To be kept, and given to `unlock` the next time. */
    readonly hasSlots: boolean,
  ) {}

  /**
   * Creates a workspace with a vault that one password opens. Until the first slot is stored nothing could open it, so use
   * the workspace only when this has returned: a crash leaves behind an empty one that nothing refers to.
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
    // Its times are those of the service; nothing needs them before the slots are listed.
    const openedBy = { ...slot, id: slotId, label: null, createdAt: '', updatedAt: '' };
    const unlocked = { slots, listed: [openedBy], openedBy, masterKey, proof };
    return new Vault(unlocked, await deriveVaultKeys(masterKey), true);
  }

  /**
   * Opens a vault. One of before, without slots, gets one for its password.
   * @throws WrongSecret when it opens nothing; KdfRefused when a slot has parameters that no client writes; RecoveryKeyTypo
   * for a recovery key that was not copied correctly; SlotsHidden
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
   * Opens a vault with the master key that a device has kept (`exportMasterKey`). Nothing can be told of how it was
   * opened, so slots cannot be removed then. @throws WrongSecret when it is not the master key of this vault
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

  /** What opens a vault that is still closed, oldest first. */
  static async slotsOf(session: Session, workspaceId: string): Promise<readonly KeySlot[]> {
    return (await new KeySlots(session, workspaceId).list()).slots;
  }

  /** The passkeys of a vault that is still closed: ask one for its PRF, and unlock by what it gives. */
  static async passkeys(
    session: Session,
    workspaceId: string,
  ): Promise<(Passkey & { readonly slotId: string })[]> {
    return passkeysIn((await new KeySlots(session, workspaceId).list()).slots);
  }

  /** Gives a vault a new password in place of the old one; the master key stays the same. See `changePassword`. */
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

  /** What opens the vault now, oldest first. */
  async slots(): Promise<readonly KeySlot[]> {
    return (await this.unlocked.slots.list()).slots;
  }

  /** Adds a password: after a recovery, for one. Others stay. @returns the id of its slot */
  addPassword(password: string, kdf?: () => PasswordKdf): Promise<string> {
    return addPassword(this.unlocked, password, kdf);
  }

  /** Makes a recovery key, which counts when it has been typed. */
  draftRecoveryKey(): Promise<RecoveryDraft> {
    return draftRecoveryKey(this.unlocked);
  }

  /** Adds a passkey, with what it gives for its salt. @returns the id of its slot */
  addPasskey(passkey: Passkey, prfOutput: Uint8Array, label?: string): Promise<string> {
    return addPasskey(this.unlocked, passkey, prfOutput, label);
  }

  /** Deletes a slot, but never the one that the vault was opened by. */
  async removeSlot(slotId: string): Promise<void> {
    await removeSlot({ ...this.unlocked, listed: await this.slots() }, slotId);
  }

  /** A copy of the master key, for a device that keeps it: whoever has it reads and writes everything in the vault. */
  exportMasterKey(): Uint8Array {
    return this.unlocked.masterKey.slice();
  }

  /** Overwrites the master key. What it was derived to stays usable as long as somebody holds `keys`. */
  forget(): void {
    this.unlocked.masterKey.fill(0);
  }
}
