import { Argument, type Command, Option } from 'commander';
import { EVENT_TYPES, type EventType, STATUSES, type SubscriptionStatus } from '../../billing/index.js';
import { type DryRun, dryRunOption, emailArgument, knownEmail, nowOption, time } from '../arguments.js';
import { expireSubscriptions, previewExpiry } from '../expire-subscriptions.js';
import { previewGrant, grantSubscription } from '../grant-subscription.js';
import type { Run } from '../report.js';
import { previewWebhook, sendWebhook } from '../send-webhook.js';
import { showSubscription } from '../show-subscription.js';

interface GrantOptions extends DryRun {
  readonly status: SubscriptionStatus;
  readonly until?: Date;
}

interface WebhookOptions extends DryRun {
  readonly user: string;
  readonly file?: string;
}

/** `subscription grant` and `show`, `subscriptions expire`, `webhook send`. */
export function addSubscriptions(program: Command, run: Run): void {
  addSubscription(program.command('subscription').description("one account's subscription"), run);

  program
    .command('subscriptions')
    .description('all subscriptions')
    .command('expire')
    .addOption(nowOption())
    .addOption(dryRunOption())
    .description('write down which trials and grants have ended')
    .action(({ now, dryRun }: DryRun & { now?: Date }) =>
      run(() => (dryRun ? previewExpiry(now) : expireSubscriptions(now))),
    );

  program
    .command('webhook')
    .description('payment events')
    .command('send')
    .addArgument(new Argument('<event>', 'type of the event').choices(Object.keys(EVENT_TYPES)))
    .requiredOption('--user <email>', 'address of the account that it is about', knownEmail)
    .option('--file <file>', 'JSON of the event, or of the object in it, instead of a made-up one')
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
    .option('--until <time>', 'end of the trial or the paid period, ISO 8601, UTC without a zone', time)
    .addOption(dryRunOption())
    .description('set a subscription by hand')
    .action((address: string, { status, until, dryRun }: GrantOptions) =>
      run(() => (dryRun ? previewGrant : grantSubscription)(address, status, until ?? null)),
    );

  subscription
    .command('show')
    .addArgument(emailArgument())
    .description('what it is, whether it is active, and its names at the payment provider')
    .action((address: string) => run(() => showSubscription(address)));
}
