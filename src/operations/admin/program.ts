import { Command } from 'commander';
import { addAudit } from './commands/audit-commands.js';
import { addBackup, addFailover } from './commands/backup-commands.js';
import { addBlobs, addStorage } from './commands/blob-commands.js';
import { addMail } from './commands/mail-commands.js';
import { addOperation } from './commands/operation-commands.js';
import { addRetention } from './commands/retention-commands.js';
import { addSubscriptions } from './commands/subscription-commands.js';
import { addUsers } from './commands/user-commands.js';
import type { Run } from './with-service.js';

/** All commands. A usage error is thrown as a CommanderError; so is help, with exit code 0. */
export function adminProgram(run: Run): Command {
  const program = new Command('admin')
    .description('administers the service')
    .option('--json', 'print one JSON object instead of text')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true });
  const all = [
    addUsers,
    addStorage,
    addSubscriptions,
    addBlobs,
    addBackup,
    addFailover,
    addRetention,
    addMail,
    addOperation,
    addAudit,
  ];
  for (const add of all) add(program, run);
  return program;
}
