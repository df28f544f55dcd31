import { type Command, Option } from 'commander';
import { bytesUpTo, type DryRun, dryRunOption, emailArgument } from '../arguments.js';
import type { Run } from '../report.js';
import { previewStorage, MAX_ADDON_BYTES, setStorage, type StorageOptions } from '../set-storage.js';

/** `storage set`. */
export function addStorage(program: Command, run: Run): void {
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
