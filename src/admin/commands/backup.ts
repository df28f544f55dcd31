import type { Command } from 'commander';
import { type DryRun, dryRunOption } from '../arguments.js';
import { createBackup } from '../create-backup.js';
import type { Run } from '../report.js';
import { previewRestore, restoreBackup } from '../restore-backup.js';
import { verifyBackup, type VerifyOptions } from '../verify-backup.js';

/** `backup create`, `backup verify` and `backup restore`. */
export function addBackup(program: Command, run: Run): void {
  const backup = program.command('backup').description('database and blobs in a directory');

  backup
    .command('create')
    .argument('<directory>', 'where to; it is made, or empty')
    .description(
      'back up everything, while the service runs; sessions and secrets of the environment are left out',
    )
    .action((directory: string) => run(() => createBackup(directory)));

  backup
    .command('verify')
    .argument('<directory>', 'where the backup is')
    .option('--database <url>', 'an empty database to try it in, instead of an embedded one of the moment')
    .description('restore it for a try and read every byte')
    .action((directory: string, options: VerifyOptions) => run(() => verifyBackup(directory, options)));

  backup
    .command('restore')
    .argument('<directory>', 'where the backup is')
    .addOption(dryRunOption())
    .description('fill an empty database and blob store, with the service stopped')
    .action((directory: string, { dryRun }: DryRun) =>
      run(() => (dryRun ? previewRestore(directory) : restoreBackup(directory))),
    );
}
