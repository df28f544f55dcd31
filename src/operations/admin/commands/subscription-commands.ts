import { Argument, type Command, Option } from 'commander';
import {
  Customers,
  EVENT_TYPES,
  type EventType,
  STATUSES,
  type Subscription,
  Subscriptions,
  type SubscriptionStatus,
} from '../../../domain/billing/index.js';
import { TrustedTime } from '../../../platform/jobs/index.js';
import {
  accountOf,
  type DryRun,
  dryRunOption,
  emailArgument,
  knownEmail,
  nowOption,
  type Report,
  type Run,
  time,
  withService,
} from '../with-service.js';
import { previewWebhook, sendWebhook } from './mail-commands.js';

interface GrantOptions extends DryRun {
  readonly status: SubscriptionStatus;
  readonly until?: Date;
}

interface WebhookOptions extends DryRun {
  readonly user: string;
  readonly file?: string;
}

/** Adds `subscription grant` and `show`, `subscriptions expire` and `webhook send`. */
export function addSubscriptions(program: Command, run: Run): void {
  addSubscription(program.command('subscription').description("one account's subscription"), run);

  program
    .command('subscriptions')
    .description('all subscriptions')
    .command('expire')
    .addOption(nowOption())
    .addOption(dryRunOption())
    .description('store ended trials and grants as expired')
    .action(({ now, dryRun }: DryRun & { now?: Date }) =>
      run(() => (dryRun ? previewExpiry(now) : expireSubscriptions(now))),
    );

  program
    .command('webhook')
    .description('payment events')
    .command('send')
    .addArgument(new Argument('<event>', 'type of the event').choices(Object.keys(EVENT_TYPES)))
    .requiredOption('--user <email>', 'address of the account', knownEmail)
    .option('--file <file>', 'JSON of the event, or of the object in it, instead of a generated one')
    .addOption(dryRunOption())
    .description('sign a payment event and post it to the running service')
    .action((type: EventType, { user, file, dryRun }: WebhookOptions) =>
      run(() => (dryRun ? previewWebhook(type, user, file) : sendWebhook(type, user, file))),
    );
}

function addSubscription(subscription: Command, run: Run): void {
  subscription
    .command('grant')
    .addArgument(emailArgument())
    .addOption(new Option('--status <status>', 'status to set').choices(STATUSES).makeOptionMandatory())
    .option('--until <time>', 'end of the trial or the paid period, ISO 8601, UTC if it has no zone', time)
    .addOption(dryRunOption())
    .description('set a subscription manually')
    .action((address: string, { status, until, dryRun }: GrantOptions) =>
      run(() => (dryRun ? previewGrant : grantSubscription)(address, status, until ?? null)),
    );

  subscription
    .command('show')
    .addArgument(emailArgument())
    .description('show a subscription, whether it is active, and its ids at the payment provider')
    .action((address: string) => run(() => showSubscription(address)));
}

/** Stores the trials and grants that have ended by `now` as expired. */
export function expireSubscriptions(now: Date | undefined): Promise<Report> {
  return withService(async (service) => {
    const expired = await service.get(Subscriptions).expire(now ?? (await service.get(TrustedTime).now()));
    return {
      expired,
      text: `${expired} ${expired === 1 ? 'subscription has' : 'subscriptions have'} expired`,
    };
  });
}

/** Reports how many subscriptions `expireSubscriptions` would store as expired. */
function previewExpiry(now: Date | undefined): Promise<Report> {
  return withService(async (service) => {
    const expired = await service
      .get(Subscriptions)
      .countExpirable(now ?? (await service.get(TrustedTime).now()));
    const text = `${expired} ${expired === 1 ? 'subscription' : 'subscriptions'} would be stored as expired`;
    return { dryRun: true, expired, text };
  });
}

type Grant = (email: string, status: SubscriptionStatus, until: Date | null) => Promise<Report>;

/** Sets a user's subscription manually. @throws NotFound, BadRequest */
const grantSubscription: Grant = (email, status, until) =>
  withService(async (service) => {
    const user = await accountOf(service, email);
    const subscription = await service.get(Subscriptions).grant(user.id, status, until);
    const text = `${user.email} is ${inWords(subscription, until)}`;
    return { email: user.email, ...subscription, text };
  });

/** Reports the result that `grantSubscription` would have. @throws NotFound, BadRequest */
const previewGrant: Grant = (email, status, until) =>
  withService(async (service) => {
    const user = await accountOf(service, email);
    const subscription = await service.get(Subscriptions).previewGrant(user.id, status, until);
    const text = `${user.email} would be ${inWords(subscription, until)}`;
    return { dryRun: true, email: user.email, ...subscription, text };
  });

function inWords({ status }: Subscription, until: Date | null): string {
  return until ? `${status} until ${until.toISOString()}` : status;
}

/** A user's subscription, with its ids at the payment provider. @throws NotFound */
export function showSubscription(email: string): Promise<Report> {
  return withService(async (service) => {
    const user = await accountOf(service, email);
    const subscription = await service.get(Subscriptions).describe(user.id);
    const customerId = (await service.get(Customers).find(user.id)) ?? null;
    const fields = { email: user.email, userId: user.id, ...subscription, customerId };
    return { ...fields, text: Object.entries(fields).map(line).join('\n') };
  });
}

function line([name, value]: [string, string | boolean | Date | null]): string {
  return `${name}: ${value instanceof Date ? value.toISOString() : String(value ?? '–')}`;
}
