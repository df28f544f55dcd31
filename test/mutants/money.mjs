// Faults in subscriptions, payment events and quotas.

const EVENTS = 'test/quick/invariants/webhook-order.both.spec.ts';
const WEBHOOK = 'test/quick/api/webhook.both.spec.ts';

export const MONEY_MUTANTS = [
  {
    name: 'payment events applied as they come',
    promise: 'Payment events lead to the same state in any order.',
    unit: 'replay-events#inOrder',
    find: 'a.occurredAt.getTime() - b.occurredAt.getTime() || ',
    replace: '',
    tests: [[EVENTS, 'whichever of them happened last']],
  },
  {
    name: 'payment event counted twice',
    promise: 'A payment event counts once, however often it is delivered.',
    unit: 'eventLogStatements.record',
    find: 'SELECT $1, $2,',
    replace: 'SELECT $1 || gen_random_uuid()::text, $2,',
    tests: [[EVENTS, 'delivered forty times']],
  },
  {
    name: 'payment events applied without the lock',
    promise: 'Payment events of a user are applied one after the other, on all instances.',
    unit: 'eventLogStatements.lockBilling',
    find: 'FOR NO KEY UPDATE',
    replace: '',
    tests: [[EVENTS, 'all at once on two instances|delivered forty times|events and the user at once']],
  },
  {
    name: 'deleted subscription back again',
    promise: 'A deleted subscription never returns, whatever the times of later events are.',
    unit: 'replayEvents',
    find: 'else if (ended.has(event.subscriptionId)) continue;',
    replace: '',
    tests: [[EVENTS, 'does not come back by events']],
  },
  {
    name: 'payment event refused for its metadata',
    promise: 'A payment event is refused only for a part that is used.',
    unit: 'WebhookController.receive',
    find: 'parseProviderJson(body)',
    replace: "(await import('../../platform/http/index.js')).parseJsonObject(body)",
    tests: [[WEBHOOK, 'in unused parts']],
  },
  {
    name: 'unsigned payment event accepted',
    promise: 'Only the payment provider can change a subscription through the webhook.',
    unit: 'WebhookSignature.expected',
    find: 'if (isProduction) throw',
    replace: 'if (isProduction && paymentWebhookSecrets.length > 0) throw',
    tests: [[WEBHOOK]],
  },
  {
    name: 'any answer taken for a cancellation',
    promise:
      'The cancellation of a deleted account’s subscription is repeated until the provider confirms it.',
    unit: 'payment-provider#ask',
    find: '(answer.ok || (answer.status >= 400 && Boolean(body.error)))',
    replace: 'answer.status > 0',
    tests: [['test/quick/api/account.both.spec.ts', 'does not keep the account alive']],
  },
  {
    name: 'trial a moment too long',
    promise: 'A trial expires at its end.',
    unit: 'hasRunOut',
    find: 'trial_end <=',
    replace: 'trial_end <',
    tests: [['test/quick/api/subscription.spec.ts']],
  },
  {
    name: 'subscription not required',
    promise: 'A route that needs a subscription answers 402 without one.',
    unit: 'WorkspaceAccess.check',
    find: 'demands.subscription && !found?.isSubscriber',
    replace: 'demands.subscription && !found',
    tests: [['test/deep/api/checkpoints.spec.ts', 'needs a subscription to create']],
  },
  {
    name: 'quota of each workspace alone',
    promise: 'All workspaces of an account share one quota.',
    unit: 'files.queries#held',
    find: "heldByOwner(' AND o.id <> $1')",
    replace: '0',
    tests: [['test/quick/api/usage.spec.ts', 'whatever workspace it goes to']],
  },
  {
    name: 'uploads of a shared commit not counted together',
    promise: 'Each upload of a shared commit is held to the quota with those before it.',
    unit: 'sql:put_documents_of_many',
    find: 'ELSIF p_held[w] + added_bytes[w] + u.size',
    replace: 'ELSIF p_held[w] + u.size',
    tests: [['test/quick/invariants/group-commit.both.spec.ts', 'as one by one']],
  },
  {
    name: 'quota of assets read before it is locked',
    promise: 'No upload takes the assets of an account above the quota.',
    unit: 'quotaStatements.reserve',
    find: 'used_bytes + $2 <= addon_bytes + $3',
    replace: '(SELECT a.used_bytes + $2 <= a.addon_bytes + $3 FROM storage_accounts a WHERE a.user_id = $1)',
    tests: [['test/quick/invariants/asset-races.both.spec.ts', 'uploads to a quota']],
  },
];
