import { Argument, type Command } from 'commander';
import { type Mode, MODES } from '../../platform/kill-switch/index.js';
import { contact, type DryRun, dryRunOption } from '../arguments.js';
import { previewSigningKeys, renewSigningKeys } from '../renew-signing-keys.js';
import type { Run } from '../report.js';
import { previewKillSwitch, setKillSwitch } from '../set-kill-switch.js';
import { generateVapid } from '../generate-vapid.js';

const SOMEBODY = 'mailto:you@example.org';

/** `kill-switch`, `signing-keys renew` and `vapid generate`. */
export function addOperation(program: Command, run: Run): void {
  program
    .command('kill-switch')
    .addArgument(new Argument('<mode>', 'what to hold off').choices(MODES))
    .addOption(dryRunOption())
    .description('hold off writes (read-only) or everything (down) on every instance, or nothing (off)')
    .action((mode: Mode, { dryRun }: DryRun) =>
      run(() => (dryRun ? previewKillSwitch(mode) : setKillSwitch(mode))),
    );

  program
    .command('signing-keys')
    .description('the keys of the JWTs')
    .command('renew')
    .addOption(dryRunOption())
    .description('make a new key, after AUTH_SECRET has changed')
    .action(({ dryRun }: DryRun) => run(() => (dryRun ? previewSigningKeys() : renewSigningKeys())));

  program
    .command('vapid')
    .description('the keys of Web Push')
    .command('generate')
    .option('--subject <address>', 'whom a push service may write to: mailto: or https:', contact, SOMEBODY)
    .description('make a key pair and print the three variables for .env; a new pair ends all subscriptions')
    .action(({ subject }: { subject: string }) => run(() => generateVapid(subject)));
}
