import { Argument, type Command, Option } from 'commander';
import {
  Customers,
  EVENT_TYPES,
  type EventType,
  STATUSES,
  Subscriptions,
  type SubscriptionStatus,
} from '../../../domain/billing/index.js';
import { TrustedTime } from '../../../platform/jobs/index.js';
import {
  type AsOf,
  type DryRun,
  dryRunOption,
  emailArgument,
  knownEmail,
  linesOf,
  nowOption,
  onAccount,
  type Report,
  type Run,
  time,
  withService,
} from '../with-service.js';
import { sendWebhook } from './mail-commands.js';

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
    .action(({ now, dryRun }: AsOf) => run(() => expireSubscriptions(now, dryRun)));

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
      run(() => sendWebhook(type, user, file, dryRun)),
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
    .action((address: string, options: GrantOptions) => run(() => grantSubscription(address, options)));

  subscription
    .command('show')
    .addArgument(emailArgument())
    .description('show a subscription, whether it is active, and its ids at the payment provider')
    .action((address: string) => run(() => showSubscription(address)));
}

/** Stores the trials and grants that have ended by `now` as expired, or reports how many there are. */
export function expireSubscriptions(now: Date | undefined, dryRun?: true): Promise<Report> {
  return withService(async (service) => {
    const subscriptions = service.get(Subscriptions);
    const asOf = now ?? (await service.get(TrustedTime).now());
    if (dryRun) {
      const expired = await subscriptions.countExpirable(asOf);
      const text = `${expired} ${expired === 1 ? 'subscription' : 'subscriptions'} would be stored as expired`;
      return { dryRun, expired, text };
    }
    const expired = await subscriptions.expire(asOf);
    const text = `${expired} ${expired === 1 ? 'subscription has' : 'subscriptions have'} expired`;
    return { expired, text };
  });
}

/** Sets a user's subscription manually, or reports what would result. @throws NotFound, BadRequest */
function grantSubscription(address: string, options: GrantOptions): Promise<Report> {
  const { status, until = null, dryRun } = options;
  return onAccount(address, async (service, { id, email }) => {
    const subscriptions = service.get(Subscriptions);
    const result = await subscriptions[dryRun ? 'previewGrant' : 'grant'](id, status, until);
    const inWords = until ? `${result.status} until ${until.toISOString()}` : result.status;
    const text = `${email} ${dryRun ? 'would be' : 'is'} ${inWords}`;
    return { ...(dryRun && { dryRun }), email, ...result, text };
  });
}

/** A user's subscription, with its ids at the payment provider. @throws NotFound */
export function showSubscription(address: string): Promise<Report> {
  return onAccount(address, async (service, { id: userId, email }) => {
    const subscription = await service.get(Subscriptions).describe(userId);
    const customerId = (await service.get(Customers).find(userId)) ?? null;
    const fields = { email, userId, ...subscription, customerId };
    return { ...fields, text: linesOf(fields) };
  });
}
