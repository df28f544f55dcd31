import { Argument, type Command } from 'commander';
import { AuditedKillSwitch, BY_OPERATOR } from '../../../domain/auth/audit/index.js';
import { SigningKeys } from '../../../domain/auth/index.js';
import { KillSwitch, type Mode, MODES } from '../../../platform/kill-switch.js';
import { generateVapidKeys } from '../../../domain/devices/web-push/index.js';
import { contact, type DryRun, dryRunOption, type Report, type Run, withService } from '../with-service.js';

const SOMEBODY = 'mailto:you@example.org';

/** Adds `kill-switch`, `signing-keys renew` and `vapid generate`. */
export function addOperation(program: Command, run: Run): void {
  program
    .command('kill-switch')
    .addArgument(new Argument('<mode>', 'what to reject').choices(MODES))
    .addOption(dryRunOption())
    .description('reject writes (read-only) or everything (down) on every instance, or nothing (off)')
    .action((mode: Mode, options: DryRun) => run(() => setKillSwitch(mode, options)));

  program
    .command('signing-keys')
    .description('the keys that sign JWTs')
    .command('renew')
    .addOption(dryRunOption())
    .description('create a new key, after AUTH_SECRET has changed')
    .action((options: DryRun) => run(() => renewSigningKeys(options)));

  program
    .command('vapid')
    .description('the keys for Web Push')
    .command('generate')
    .option('--subject <address>', 'contact for push services: mailto: or https:', contact, SOMEBODY)
    .description(
      'generate a key pair and print the three variables for .env; a new pair ends all subscriptions',
    )
    .action(({ subject }: { subject: string }) => run(() => generateVapid(subject)));
}

/** Generates a key pair for Web Push, as lines for `.env`. Changes nothing, and needs neither the service nor the database. */
function generateVapid(subject: string): Promise<Report> {
  const { publicKey, privateKey } = generateVapidKeys();
  const variables = {
    VAPID_PUBLIC_KEY: publicKey,
    VAPID_PRIVATE_KEY: privateKey,
    VAPID_SUBJECT: subject,
  };
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  return Promise.resolve({ ...variables, text: lines.join('\n') });
}

/** For use after AUTH_SECRET has changed. */
function renewSigningKeys({ dryRun }: DryRun): Promise<Report> {
  return withService(async (service) => {
    const keys = service.get(SigningKeys);
    const removed = await keys.count();
    if (dryRun) {
      const text = `${removed} signing ${removed === 1 ? 'key' : 'keys'} would be replaced by a new one; every JWT would be refused`;
      return { dryRun, removed, text };
    }
    await keys.renew();
    const text =
      'Created a new signing key. Earlier JWTs are refused; clients get new ones with their session.';
    return { removed, text };
  });
}

const SENTENCES: Record<Mode, string> = {
  off: 'The service works as usual.',
  'read-only': 'The service is read-only: requests that write content, settings or tokens get 503.',
  down: 'The service is down: all requests except health get 503.',
};

/** Takes effect on every instance within 5 s. */
function setKillSwitch(mode: Mode, { dryRun }: DryRun): Promise<Report> {
  return withService(async (service) => {
    const { mode: now } = service.get(KillSwitch, { strict: false });
    if (dryRun) return { dryRun, mode, now, text: `The kill switch is ${now}, and would be ${mode}.` };
    await service.get(AuditedKillSwitch).set(mode, BY_OPERATOR);
    return { text: SENTENCES[mode], mode };
  });
}
