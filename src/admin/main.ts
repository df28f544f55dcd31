import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { isEmail } from 'class-validator';
import { STATUSES, type SubscriptionStatus } from '../billing/index.js';
import { StartupError } from '../config/index.js';
import { isInstant, parseInstant } from '../platform/clock/index.js';
import { createUser } from './create-user.js';
import { grantSubscription } from './grant-subscription.js';
import { renewSigningKeys } from './renew-signing-keys.js';
import type { Report } from './report.js';

const FAILED = 1;
const USAGE = 2;

/** `npm run admin -- COMMAND`: works beside a running service, or with its database started for the moment. */
const program = new Command('admin')
  .description('Looks after the service: accounts and subscriptions')
  .option('--json', 'print one JSON object instead of text')
  .exitOverride()
  .configureHelp({ showGlobalOptions: true });

program
  .command('user')
  .description('accounts')
  .command('create')
  .argument('<email>', 'address to sign in with', email)
  .option('--name <name>', 'display name; the part before the @ unless told')
  .description('create an account; its password is made here and shown once')
  .action((address: string, options: { name?: string }) => run(() => createUser(address, options.name)));

program
  .command('subscription')
  .description('subscriptions')
  .command('grant')
  .argument('<email>', 'address of the account', email)
  .addOption(new Option('--status <status>', 'status to set').choices(STATUSES).makeOptionMandatory())
  .option('--until <time>', 'end of the trial or the paid period, ISO 8601, UTC without a zone', time)
  .description('set a subscription by hand')
  .action((address: string, options: { status: SubscriptionStatus; until?: Date }) =>
    run(() => grantSubscription(address, options.status, options.until ?? null)),
  );

program
  .command('signing-keys')
  .description('the keys of the JWTs')
  .command('renew')
  .description('make a new key, after AUTH_SECRET has changed')
  .action(() => run(renewSigningKeys));

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : USAGE);
  throw error;
}

async function run(command: () => Promise<Report>): Promise<void> {
  try {
    const { text, ...fields } = await command();
    console.log(program.opts<{ json?: boolean }>().json ? JSON.stringify(fields) : text);
    process.exitCode = 0;
  } catch (error) {
    const isKnown = error instanceof StartupError || (error instanceof Error && 'status' in error);
    console.error(isKnown ? (error as Error).message : error);
    process.exitCode = FAILED;
  }
}

function email(text: string): string {
  if (isEmail(text)) return text;
  throw new InvalidArgumentError('It must be an email address.');
}

function time(text: string): Date {
  if (isInstant(text)) return parseInstant(text);
  throw new InvalidArgumentError('It must be an ISO 8601 time.');
}
