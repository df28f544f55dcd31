import { Command } from 'commander';
import { addAccounts } from './commands/accounts.js';
import { addBackup } from './commands/backup.js';
import { addBlobs } from './commands/blobs.js';
import { addOperation } from './commands/operation.js';
import { addRetention } from './commands/retention.js';
import { addSubscriptions } from './commands/subscriptions.js';
import type { Run } from './report.js';

/** All commands. What is used wrongly is thrown as a CommanderError, and help with its exit code 0. */
export function adminProgram(run: Run): Command {
  const program = new Command('admin')
    .description('looks after the service')
    .option('--json', 'print one JSON object instead of text')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true });
  for (const add of [addAccounts, addSubscriptions, addBlobs, addBackup, addRetention, addOperation])
    add(program, run);
  return program;
}
