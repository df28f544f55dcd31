import type { Command } from 'commander';
import { Vault } from '../../core/index.js';
import type { Run } from '../command.js';
import type { Context, OpenFolder } from '../context.js';
import { UsageError } from '../errors.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { newPassword } from '../new-password.js';

interface PasswordOptions {
  readonly recoveryKey?: boolean;
}

export function registerPassword(program: Command, run: Run): void {
  program
    .command('password')
    .description('change the password of the vault; devices that keep its key go on without asking')
    .argument('[folder]', 'a folder that is set up; the current directory unless given')
    .option('--recovery-key', 'the password is forgotten: open by a recovery key (or RECOVERY_KEY)')
    .action(
      run((context: Context, argument: string | undefined, options: PasswordOptions) =>
        context.withFolder(argument, async (opened) => {
          const { folder } = opened;
          if (context.options.dryRun === true) {
            context.output.result({ folder: folder.root }, ['would change the password of the vault']);
            return EXIT.ok;
          }
          return options.recoveryKey === true ? recover(context, opened) : change(context, opened);
        }),
      ),
    );
}

/** After an interruption, it is safe to repeat with the same two passwords. */
async function change({ prompt, output }: Context, { folder, session }: OpenFolder): Promise<ExitCode> {
  const { workspace, hasSlots } = folder.settings;
  const old = await prompt.secret('Password of the vault: ', 'VAULT_PASSWORD');
  const fresh = await newPassword(prompt);
  if (old.normalize('NFKC') === fresh.normalize('NFKC'))
    throw new UsageError('the new password is the same as the old one');
  const whenAdded = (): void => output.note('The new password opens the vault.');
  const { others, isOldLeft } = await Vault.changePassword(session, workspace, {
    ...{ old, fresh, hasSlots, whenAdded },
  });
  output.result({ folder: folder.root, others, isOldLeft }, [
    isOldLeft
      ? 'The old one still does too, because another device has written it meanwhile: repeat this command.'
      : 'The old one no longer does. If somebody knew it, they may have kept the key: see `cloud-sync rotate`.',
    ...(others > 0 ? [`${others} other passwords open the vault too.`] : []),
  ]);
  return isOldLeft ? EXIT.leftOver : EXIT.ok;
}

async function recover({ prompt, output }: Context, { folder, session }: OpenFolder): Promise<ExitCode> {
  const recoveryKey = await prompt.secret('Recovery key of the vault: ', 'RECOVERY_KEY');
  const vault = await Vault.unlock(session, folder.settings.workspace, { recoveryKey });
  await vault.addPassword(await newPassword(prompt));
  output.result({ folder: folder.root, others: null, isOldLeft: null }, [
    'The new password opens the vault. So does the forgotten one, if somebody remembers it.',
  ]);
  return EXIT.ok;
}
