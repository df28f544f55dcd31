import type { Command } from 'commander';
import { type DryRun, dryRunOption, rowCount, time } from '../arguments.js';
import { listJobs } from '../list-jobs.js';
import type { Run } from '../report.js';
import { previewRetention, runRetention } from '../run-retention.js';

const RUNS = 30;

/** `retention run` and `jobs`. */
export function addRetention(program: Command, run: Run): void {
  program
    .command('retention')
    .description('old versions of files')
    .command('run')
    .option(
      '--now <time>',
      'as of this time, ISO 8601, UTC without a zone; the clock and earlier runs do not matter',
      time,
    )
    .addOption(dryRunOption())
    .description('thin old versions as the nightly job does; their bytes go 24 hours later')
    .action(({ now, dryRun }: DryRun & { now?: Date }) =>
      run(() => (dryRun ? previewRetention(now) : runRetention(now))),
    );

  program
    .command('jobs')
    .option('--limit <number>', 'how many runs', rowCount, RUNS)
    .description('the last runs of the nightly jobs, newest first')
    .action(({ limit }: { limit: number }) => run(() => listJobs(limit)));
}
