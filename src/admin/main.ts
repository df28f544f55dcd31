import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { isEmail } from 'class-validator';
import { EVENT_TYPES, type EventType, STATUSES, type SubscriptionStatus } from '../billing/index.js';
import { StartupError } from '../config/index.js';
import type { BlobLocation } from '../platform/blobs/index.js';
import { isInstant, parseInstant } from '../platform/clock/index.js';
import { type Mode, MODES } from '../platform/kill-switch/index.js';
import { LOCATIONS, moveBlobs } from './blobs-move.js';
import { sweepBlobs } from './blobs-sweep.js';
import { createUser } from './create-user.js';
import { type DoctorOptions, examine } from './doctor.js';
import { expireSubscriptions } from './expire-subscriptions.js';
import { grantSubscription } from './grant-subscription.js';
import { listJobs } from './jobs-list.js';
import { renewSigningKeys } from './renew-signing-keys.js';
import type { Report } from './report.js';
import { foreseeRetention, runRetention } from './retention-run.js';
import { sendWebhook } from './send-webhook.js';
import { showSubscription } from './show-subscription.js';
import { setKillSwitch } from './set-kill-switch.js';
import { MAX_ADDON_BYTES, setStorage, type StorageOptions } from './storage-set.js';
import { generateVapid } from './vapid-generate.js';

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

const subscription = program.command('subscription').description("one account's subscription");

subscription
  .command('grant')
  .argument('<email>', 'address of the account', email)
  .addOption(new Option('--status <status>', 'status to set').choices(STATUSES).makeOptionMandatory())
  .option('--until <time>', 'end of the trial or the paid period, ISO 8601, UTC without a zone', time)
  .description('set a subscription by hand')
  .action((address: string, options: { status: SubscriptionStatus; until?: Date }) =>
    run(() => grantSubscription(address, options.status, options.until ?? null)),
  );

subscription
  .command('show')
  .argument('<email>', 'address of the account', email)
  .description('what it is, whether it is active, and its names at the payment provider')
  .action((address: string) => run(() => showSubscription(address)));

program
  .command('subscriptions')
  .description('all subscriptions')
  .command('expire')
  .option('--now <time>', 'as if it were this time, ISO 8601, UTC without a zone', time)
  .description('write down which trials have ended')
  .action((options: { now?: Date }) => run(() => expireSubscriptions(options.now)));

program
  .command('webhook')
  .description('payment events')
  .command('send')
  .addArgument(new Argument('<event>', 'type of the event').choices(Object.keys(EVENT_TYPES)))
  .requiredOption('--user <email>', 'address of the account that it is about', email)
  .option('--file <file>', 'JSON of the event, or of the object in it, instead of a made-up one')
  .description('sign a payment event and post it to the running service')
  .action((type: EventType, options: { user: string; file?: string }) =>
    run(() => sendWebhook(type, options.user, options.file)),
  );

program
  .command('storage')
  .description('what accounts may store as assets')
  .command('set')
  .argument('<email>', 'address of the account', email)
  .option('--addon <bytes>', 'bytes beyond what the plan gives', byteCount)
  .addOption(new Option('--locked', 'refuse uploads').conflicts('unlocked'))
  .option('--unlocked', 'accept uploads again')
  .description('set add-on bytes, lock or unlock; what is not given stays')
  .action((address: string, options: StorageOptions) => run(() => setStorage(address, options)));

program
  .command('kill-switch')
  .addArgument(new Argument('<mode>', 'what to hold off').choices(MODES))
  .description('hold off writes (read-only) or everything (down) on every instance, or nothing (off)')
  .action((mode: Mode) => run(() => setKillSwitch(mode)));

program
  .command('signing-keys')
  .description('the keys of the JWTs')
  .command('renew')
  .description('make a new key, after AUTH_SECRET has changed')
  .action(() => run(renewSigningKeys));

program
  .command('vapid')
  .description('the keys of Web Push')
  .command('generate')
  .option(
    '--subject <address>',
    'whom a push service may write to: mailto: or https:',
    contact,
    'mailto:you@example.org',
  )
  .description('make a key pair and print the three variables for .env; a new pair ends all subscriptions')
  .action(({ subject }: { subject: string }) => run(() => generateVapid(subject)));

const blobs = program.command('blobs').description('the bytes of files and assets');

blobs
  .command('sweep')
  .option('--now <time>', 'as if it were this time, ISO 8601, UTC without a zone', time)
  .description('remove what nothing refers to')
  .action((options: { now?: Date }) => run(() => sweepBlobs(options.now)));

blobs
  .command('move')
  .addOption(new Option('--to <place>', 'where they are to be').choices(LOCATIONS).makeOptionMandatory())
  .description('move all that belong there, while the service runs; may be stopped and run again')
  .action(({ to }: { to: BlobLocation }) => run(() => moveBlobs(to)));

program
  .command('doctor')
  .option('--deep', 'read every byte')
  .option('--fix', 'cure what can be cured')
  .description('look whether rows and bytes belong together, and all that is promised holds')
  .action((options: DoctorOptions) => run(() => examine(options)));

program
  .command('retention')
  .description('old versions of files')
  .command('run')
  .option(
    '--now <time>',
    'as of this time, ISO 8601, UTC without a zone; the clock and earlier runs do not matter',
    time,
  )
  .option('--dry-run', 'tell what would go and change nothing')
  .description('thin old versions as the nightly job does; their bytes go 24 hours later')
  .action(({ now, dryRun }: { now?: Date; dryRun?: true }) =>
    run(() => (dryRun ? foreseeRetention(now) : runRetention(now))),
  );

program
  .command('jobs')
  .option('--limit <number>', 'how many runs', rowCount, 30)
  .description('the last runs of the nightly jobs, newest first')
  .action(({ limit }: { limit: number }) => run(() => listJobs(limit)));

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : USAGE);
  throw error;
}

async function run(command: () => Promise<Report>): Promise<void> {
  try {
    const { text, exitCode = 0, ...fields } = await command();
    console.log(program.opts<{ json?: boolean }>().json ? JSON.stringify(fields) : text);
    process.exitCode = exitCode;
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

function byteCount(text: string): number {
  const bytes = Number(text);
  if (/^\d{1,16}$/.test(text) && bytes <= MAX_ADDON_BYTES) return bytes;
  throw new InvalidArgumentError(`It must be a whole number of bytes, ${MAX_ADDON_BYTES} at most.`);
}

function rowCount(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a number from 1 to 9999.');
}

function contact(text: string): string {
  if (/^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/.test(text)) return text;
  throw new InvalidArgumentError('It must be a mailto: or https: address.');
}

function time(text: string): Date {
  if (isInstant(text)) return parseInstant(text);
  throw new InvalidArgumentError('It must be an ISO 8601 time.');
}
