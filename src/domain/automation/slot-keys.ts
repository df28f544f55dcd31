import { Injectable } from '@nestjs/common';
import { type KeySlot, KeySlots } from '../workspaces/key-slots/index.js';
import { Conflict, Forbidden } from '../../platform/http/index.js';
import { KeyDerivations } from './key-derivations.js';
import { KdfRefused, openPasswordSlot, openRecoverySlot } from './key-slot-crypto.js';
import { affordable, type AffordableSlot } from './slot-budget.js';
import { DecryptionError, deriveMasterKey } from './vault-crypto.js';

/** A vault that is being opened. */
export interface LockedVault {
  readonly workspaceId: string;
  /** Whose turn a derivation is. */
  readonly userId: string;
  readonly encryptionSalt: string;
  /** Whether a key is the master key. */
  readonly isMasterKey: (key: Buffer) => boolean;
}

/** Opens vaults by their key slots. The caller wipes the master keys that it returns. */
@Injectable()
export class SlotKeys {
  constructor(
    private readonly keySlots: KeySlots,
    private readonly derivations: KeyDerivations,
  ) {}

  /**
   * Tries the password slots that the budget allows. A vault without any is one whose password has never been changed: its
   * master key is the derivation of the password.
   * @throws Forbidden when the password is wrong, Conflict when it opens none of the slots that were tried and others
   * were left, ServiceUnavailable when too many derivations wait
   */
  async byPassword(vault: LockedVault, password: string): Promise<Buffer> {
    const { slots } = await this.keySlots.list(vault.workspaceId);
    const { tried, left } = affordable(slots);
    const key =
      tried.length + left === 0
        ? await this.derived(vault, password)
        : await this.firstOf(vault, tried, password);
    if (key) return key;
    if (left === 0) throw new Forbidden('the password is wrong');
    throw new Conflict(
      'the password opens none of the key slots that were tried; others have parameters that the service refuses: ' +
        'send recoveryKey or key',
    );
  }

  /**
   * Tries the recovery slots.
   * @throws Conflict when there is none, Forbidden when the recovery key opens none
   */
  async byRecoveryKey(vault: LockedVault, recoveryKey: Buffer): Promise<Buffer> {
    const { slots } = await this.keySlots.list(vault.workspaceId);
    const recovery = slots.filter(({ kind }) => kind === 'recovery');
    if (recovery.length === 0) throw new Conflict('the workspace has no recovery key');
    for (const slot of recovery) {
      const key = await opened(vault, () => openRecoverySlot(placeOf(vault, slot), slot, recoveryKey));
      if (key) return key;
    }
    throw new Forbidden('the recovery key is wrong');
  }

  private async firstOf(
    vault: LockedVault,
    tried: readonly AffordableSlot[],
    password: string,
  ): Promise<Buffer | undefined> {
    for (const { slot, kdf } of tried) {
      const open = (): Promise<Buffer> => openPasswordSlot(placeOf(vault, slot), slot, password);
      const key = await opened(vault, () => this.derivations.run(vault.userId, kdf.name, open));
      if (key) return key;
    }
    return undefined;
  }

  private derived(vault: LockedVault, password: string): Promise<Buffer | undefined> {
    const derive = (): Promise<Buffer> => deriveMasterKey(password, vault.encryptionSalt);
    return opened(vault, () => this.derivations.run(vault.userId, 'pbkdf2-sha256', derive));
  }
}

/** Undefined when it does not open, or opens to another key than that of the vault. */
async function opened(
  { isMasterKey }: LockedVault,
  open: () => Buffer | Promise<Buffer>,
): Promise<Buffer | undefined> {
  try {
    const key = await open();
    if (isMasterKey(key)) return key;
    key.fill(0);
  } catch (error) {
    if (!(error instanceof DecryptionError || error instanceof KdfRefused)) throw error;
  }
  return undefined;
}

const placeOf = ({ workspaceId }: LockedVault, { id }: KeySlot): { workspaceId: string; slotId: string } => ({
  workspaceId,
  slotId: id,
});
