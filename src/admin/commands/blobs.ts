import { type Command, Option } from 'commander';
import type { BlobLocation } from '../../storage/index.js';
import { type DryRun, dryRunOption, nowOption } from '../arguments.js';
import { previewMove, LOCATIONS, moveBlobs } from '../move-blobs.js';
import { previewSweep, sweepBlobs } from '../sweep-blobs.js';
import { type DoctorOptions, examine } from '../examine.js';
import type { Run } from '../report.js';

/** `blobs sweep`, `blobs move` and `doctor`. */
export function addBlobs(program: Command, run: Run): void {
  const blobs = program.command('blobs').description('the bytes of files and assets');

  blobs
    .command('sweep')
    .addOption(nowOption())
    .addOption(dryRunOption())
    .description('remove what nothing refers to')
    .action(({ now, dryRun }: DryRun & { now?: Date }) =>
      run(() => (dryRun ? previewSweep(now) : sweepBlobs(now))),
    );

  blobs
    .command('move')
    .addOption(new Option('--to <place>', 'where they are to be').choices(LOCATIONS).makeOptionMandatory())
    .addOption(dryRunOption())
    .description('move all that belong there, while the service runs; may be stopped and run again')
    .action(({ to, dryRun }: DryRun & { to: BlobLocation }) =>
      run(() => (dryRun ? previewMove(to) : moveBlobs(to))),
    );

  program
    .command('doctor')
    .option('--deep', 'read every byte')
    .option('--fix', 'cure what can be cured')
    .addOption(dryRunOption())
    .description('look whether rows and bytes belong together, and all that is promised holds')
    .action((options: DoctorOptions) => run(() => examine(options)));
}
