import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  type KeySlot,
  RecoveryKeyTypo,
  rotate,
  type RotationRecord,
  type Session,
  Vault,
  WrongSecret,
} from '../../client/src/core/index.js';
import { newPassword } from '../../client/src/cli/new-password.js';
import type { Output } from '../../client/src/cli/output.js';
import type { Prompt } from '../../client/src/cli/prompt.js';
import { loadJson, saveJson } from '../json-file.js';

/** The resources of a command. Results go to standard output, everything else to standard error. */
export interface Desk {
  readonly session: Session;
  readonly prompt: Prompt;
  readonly output: Output;
}

export type Command = (desk: Desk, args: readonly string[]) => Promise<void>;

const ATTEMPTS = 5;
const PASSWORD = 'Password of the vault: ';

const create: Command = async ({ session, prompt, output }, [name = '']) => {
  const { workspaceId } = await Vault.create(session, name, await newPassword(prompt));
  output.text(workspaceId);
  output.note('This is the id of the workspace. Make a recovery key: a forgotten password cannot be reset.');
};

const slots: Command = async ({ session, output }, [workspaceId = '']) => {
  for (const slot of await Vault.slotsOf(session, workspaceId)) output.text(describe(slot));
};

const password: Command = async ({ session, prompt, output }, [workspaceId = '']) => {
  const old = await prompt.secret(PASSWORD, 'VAULT_PASSWORD');
  const fresh = await newPassword(prompt);
  const whenAdded = (): void => output.note('The new password opens the vault.');
  const change = { old, fresh, whenAdded };
  const { others, isOldLeft } = await Vault.changePassword(session, workspaceId, change);
  output.note(
    isOldLeft
      ? 'The old one still does too: another device has written it meanwhile. Repeat this command.'
      : 'The old one no longer does. Somebody who knew it may have kept the master key: see `vault rotate`.',
  );
  if (others > 0)
    output.note(`${others} other passwords open the vault too: see \`vault slots\` and \`vault remove\`.`);
};

const recovery: Command = async (desk, [workspaceId = '']) => {
  const { output, prompt } = desk;
  const draft = await (await unlocked(desk, workspaceId)).draftRecoveryKey();
  output.text(draft.text);
  output.note(
    'Write this recovery key down. It is not shown again, and it opens the vault without the password.',
  );
  for (let attempt = 1; ; attempt++) {
    try {
      await draft.confirm(await prompt.line('Type it to confirm (it does not count before): '));
      break;
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof RecoveryKeyTypo || error instanceof WrongSecret))
        throw error;
      output.note(`${error.message}.`);
    }
  }
  output.note('The recovery key counts now.');
};

const recover: Command = async ({ session, prompt, output }, [workspaceId = '']) => {
  const recoveryKey = await prompt.secret('Recovery key of the vault: ', 'RECOVERY_KEY');
  const vault = await Vault.unlock(session, workspaceId, { recoveryKey });
  await vault.addPassword(await newPassword(prompt));
  output.note('The new password opens the vault. Older ones do too: see `vault slots` and `vault remove`.');
};

const remove: Command = async (desk, [workspaceId = '', slotId = '']) => {
  await (await unlocked(desk, workspaceId)).removeSlot(slotId);
  desk.output.note('The key slot is deleted.');
};

const rotateVault: Command = async (desk, [id = '']) => {
  const { session, prompt, output } = desk;
  output.note(
    'Stop other devices and tools first: what they write while the old workspace is being deleted stays on them only.',
  );
  const oldId = id.toLowerCase();
  const file = resolve(process.env['INIT_CWD'] ?? '.', `rotation-${oldId}.json`);
  const { workspaceId } = await rotate({
    ...{ session, oldId, newPassword: await newPassword(prompt) },
    store: {
      load: () => loadJson<RotationRecord>(file),
      save: (record) => saveJson(file, record),
    },
    unlockOld: async () => (await unlocked(desk, oldId)).keys,
    onProgress: (doing, done, total) => output.progress(`${doing} ${done} of ${total}`),
  });
  output.text(workspaceId);
  output.note(
    'This is the id of the new workspace. It has the password, and no recovery key yet. The old one is deleted.',
  );
  await rm(file, { force: true });
};

/** Commands by name, with their arguments. */
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

/** Opens the vault with RECOVERY_KEY if it is set, otherwise with the password. */
async function unlocked({ session, prompt }: Desk, workspaceId: string): Promise<Vault> {
  const recoveryKey = process.env['RECOVERY_KEY'];
  if (recoveryKey !== undefined) return Vault.unlock(session, workspaceId, { recoveryKey });
  return Vault.unlock(session, workspaceId, { password: await prompt.secret(PASSWORD, 'VAULT_PASSWORD') });
}

/** For users: the kind of a slot, and when it was last changed. */
const describe = ({ id, kind, updatedAt }: KeySlot): string => `${id}  ${kind}  ${updatedAt}`;
