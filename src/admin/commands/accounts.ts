import { type Command, Option } from 'commander';
import { bytesUpTo, type DryRun, dryRunOption, email, emailArgument, personName } from '../arguments.js';
import { createUser, previewUser } from '../create-user.js';
import type { Run } from '../report.js';
import { previewReset, resetPassword } from '../reset-password.js';
import { previewStorage, MAX_ADDON_BYTES, setStorage, type StorageOptions } from '../set-storage.js';

/** `user create`, `user reset-password` and `storage set`. */
export function addAccounts(program: Command, run: Run): void {
  const user = program.command('user').description('accounts');
  user
    .command('create')
    .argument('<email>', 'address to sign in with', email)
    .option('--name <name>', 'display name; the part before the @ unless told', personName)
    .addOption(dryRunOption())
    .description('create an account; its password is made here and shown once')
    .action((address: string, { name, dryRun }: DryRun & { name?: string }) =>
      run(() => (dryRun ? previewUser(address, name) : createUser(address, name))),
    );

  user
    .command('reset-password')
    .addArgument(emailArgument())
    .addOption(dryRunOption())
    .description('set a new password, made here and shown once, and end all sessions; access tokens stay')
    .action((address: string, { dryRun }: DryRun) =>
      run(() => (dryRun ? previewReset(address) : resetPassword(address))),
    );

  const set = program.command('storage').description('what accounts may store as assets').command('set');
  set
    .addArgument(emailArgument())
    .option('--addon <bytes>', 'bytes beyond what the plan gives', bytesUpTo(MAX_ADDON_BYTES))
    .addOption(new Option('--locked', 'refuse uploads').conflicts('unlocked'))
    .option('--unlocked', 'accept uploads again')
    .addOption(dryRunOption())
    .description('set add-on bytes, lock or unlock; what is not given stays')
    .action((address: string, { dryRun, ...options }: DryRun & StorageOptions) => {
      if (Object.keys(options).length === 0)
        set.error('There is nothing to set: give --addon, --locked or --unlocked.');
      return run(() => (dryRun ? previewStorage(address, options) : setStorage(address, options)));
    });
}
