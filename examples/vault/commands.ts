import { resolve } from 'node:path';
import { RecoveryKeyTypo } from '../../src/automation/key-slot-crypto.js';
import { clearProgress, showProgress } from '../sync-folder/print.js';
import type { Session } from '../sync-folder/session.js';
import { createVault } from './create.js';
import { KeySlots } from './key-slots.js';
import { addPassword, adoptSlots, changePassword } from './password.js';
import type { Prompt } from './prompt.js';
import { describe, draftRecoveryKey, removeSlot } from './recovery.js';
import { forgetRotation, rotate } from './rotate.js';
import { type Unlocked, unlockByPassword, unlockByRecoveryKey, WrongSecret } from './unlock.js';

/** What a command has at hand. Results go to standard output, everything else to standard error. */
export interface Desk {
  readonly session: Session;
  readonly prompt: Prompt;
  readonly print: (text: string) => void;
  readonly remark: (text: string) => void;
}

export type Command = (desk: Desk, args: readonly string[]) => Promise<void>;

const ATTEMPTS = 5;
const PASSWORD = 'Password of the vault: ';
const NEW_PASSWORD = 'New password of the vault: ';

const create: Command = async ({ session, prompt, print, remark }, [name = '']) => {
  const password = await prompt.newSecret(NEW_PASSWORD, 'NEW_VAULT_PASSWORD');
  print(await createVault(session, name, password));
  remark('This is the id of the workspace. Make a recovery key: a forgotten password cannot be reset.');
};

const slots: Command = async ({ session, print }, [workspaceId = '']) => {
  const list = await new KeySlots(session, workspaceId).list();
  for (const slot of list.slots) print(describe(slot));
};

const password: Command = async ({ session, prompt, remark }, [workspaceId = '']) => {
  const old = await prompt.secret(PASSWORD, 'VAULT_PASSWORD');
  const fresh = await prompt.newSecret(NEW_PASSWORD, 'NEW_VAULT_PASSWORD');
  const { others, isOldLeft } = await changePassword(new KeySlots(session, workspaceId), { old, fresh }, () =>
    remark('The new password opens the vault.'),
  );
  remark(
    isOldLeft
      ? 'The old one still does too: another device has just written it again. Repeat this command.'
      : 'The old one no longer does. Somebody who knew it may have kept the master key: see `vault rotate`.',
  );
  if (others > 0)
    remark(`${others} other passwords open the vault too: see \`vault slots\` and \`vault remove\`.`);
};

const recovery: Command = async (desk, [workspaceId = '']) => {
  const vault = await unlockedBySecret(desk, workspaceId);
  const draft = draftRecoveryKey(vault);
  desk.print(draft.text);
  desk.remark(
    'Write this recovery key down. It is not shown again, and it opens the vault without the password.',
  );
  for (let attempt = 1; ; attempt++) {
    try {
      await draft.confirm(await desk.prompt.line('Type it to confirm (it does not count before): '));
      break;
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof RecoveryKeyTypo || error instanceof WrongSecret))
        throw error;
      desk.remark(`${error.message}.`);
    }
  }
  desk.remark('The recovery key counts now.');
};

const recover: Command = async ({ session, prompt, remark }, [workspaceId = '']) => {
  const typed = await prompt.secret('Recovery key: ', 'RECOVERY_KEY');
  const vault = await unlockByRecoveryKey(new KeySlots(session, workspaceId), typed);
  await addPassword(vault, await prompt.newSecret(NEW_PASSWORD, 'NEW_VAULT_PASSWORD'));
  remark('The new password opens the vault. Older ones do too: see `vault slots` and `vault remove`.');
};

const remove: Command = async (desk, [workspaceId = '', slotId = '']) => {
  await removeSlot(await unlockedBySecret(desk, workspaceId), slotId);
  desk.remark('The key slot is deleted.');
};

const rotateVault: Command = async (desk, [oldId = '']) => {
  const { session, prompt, print, remark } = desk;
  remark(
    'Stop other devices and tools first: what they write while the old workspace is deleted is only on them.',
  );
  const newPassword = await prompt.newSecret(NEW_PASSWORD, 'NEW_VAULT_PASSWORD');
  const file = resolve(process.env['INIT_CWD'] ?? '.', `rotation-${oldId.toLowerCase()}.json`);
  const newId = await rotate({
    ...{ service: session, oldId: oldId.toLowerCase(), newPassword, file },
    unlockOld: () => unlockedBySecret(desk, oldId),
    progress: (doing, done, total) => showProgress('rotate', `${doing} ${done} of ${total}`),
  });
  clearProgress();
  print(newId);
  remark(
    'This is the id of the new workspace. It has the password, and no recovery key yet. The old one is deleted.',
  );
  await forgetRotation(file);
};

/** By name: what it takes, and what it does. */
export const COMMANDS: Readonly<Record<string, { readonly args: readonly string[]; readonly run: Command }>> =
  {
    create: { args: ['NAME'], run: create },
    slots: { args: ['WORKSPACE'], run: slots },
    password: { args: ['WORKSPACE'], run: password },
    recovery: { args: ['WORKSPACE'], run: recovery },
    recover: { args: ['WORKSPACE'], run: recover },
    remove: { args: ['WORKSPACE', 'SLOT'], run: remove },
    rotate: { args: ['WORKSPACE'], run: rotateVault },
  };

/** By recovery key where the environment has one, else by password. */
export async function unlockedBySecret({ session, prompt }: Desk, workspaceId: string): Promise<Unlocked> {
  const keySlots = new KeySlots(session, workspaceId);
  const recoveryKey = process.env['RECOVERY_KEY'];
  if (recoveryKey !== undefined) return unlockByRecoveryKey(keySlots, recoveryKey);
  const known = await prompt.secret(PASSWORD, 'VAULT_PASSWORD');
  const vault = await unlockByPassword(keySlots, known);
  await adoptSlots(vault, known);
  return vault;
}
