import { type Cause, CAUSES, STATUSES, type SubscriptionStatus, TRANSITIONS } from './transitions.js';

const MEANING: Readonly<Record<Cause, string>> = {
  trial_started: '`POST /api/v1/subscription/trial`, once per user ever',
  trial_ended: 'the trial ends',
  grant_ended: 'a manual grant ends',
  trialing: 'created or updated: `trialing`',
  active: 'created or updated: `active`',
  past_due: 'created or updated: `past_due`',
  unpaid: 'created or updated: `unpaid`',
  canceled: 'created or updated: `canceled`',
  incomplete: 'created or updated: `incomplete`',
  incomplete_expired: 'created or updated: `incomplete_expired`',
  paused: 'created or updated: `paused`',
  deleted: '`customer.subscription.deleted`',
  payment_failed: '`invoice.payment_failed`',
};

const HEAD = `# Subscription states

Printed from \`src/domain/billing/transitions.ts\` by \`node dist/src/domain/billing/print-states.js > docs/reference/subscription-states.md\`; a test
compares this page with the code. "Created or updated" stands for the events \`customer.subscription.created\` and
\`.updated\`; the word after it is the status in the provider's object.
`;

const TAIL = `Events are applied in the order in which they happened, whatever the order of their arrival ([ADR 10](../adr/0010-billing.md)).

One more condition applies: an event about a subscription other than the current one changes nothing, unless it is a
creation or an update that leads to \`trial\`, \`active\` or \`past_due\`; then that subscription becomes the current one.
While the service's own trial runs, a subscription that was never paid for counts as another one too.

A deletion is final. Among the events of the same second it is applied last, and no creation, update or failed payment of
that subscription has an effect after it, even with a later time. A new subscription at the provider has a new id and is
not affected.

These statuses are active (not 402): \`trial\` before its end, \`active\`, \`past_due\` for \`BILLING_GRACE_DAYS\` after it began,
\`cancelled\` until the end of the paid period. This is computed on each request. When a trial or a grant ends, its status
reads as \`expired\` at once; the nightly job \`subscriptions\`, or \`admin subscriptions expire\`, stores it.
`;

/** The text of docs/reference/subscription-states.md. */
export function statesDocument(): string {
  return [HEAD, diagram(), table(), TAIL].join('\n');
}

function diagram(): string {
  const arrows = new Map<string, Cause[]>();
  for (const cause of CAUSES) {
    for (const [from, to] of edgesOf(cause)) {
      const arrow = `${from} --> ${to}`;
      arrows.set(arrow, [...(arrows.get(arrow) ?? []), cause]);
    }
  }
  const lines = [...arrows].map(([arrow, causes]) => `  ${arrow}: ${causes.join(', ')}`);
  return ['```mermaid', 'stateDiagram-v2', '  [*] --> free', ...lines, '```', ''].join('\n');
}

/** One arrow from `any` instead of six to the same status. */
function edgesOf(cause: Cause): [from: string, to: SubscriptionStatus][] {
  const edges = Object.entries(TRANSITIONS[cause]);
  const [first] = edges;
  const isFromAny = edges.length === STATUSES.length && new Set(edges.map(([, to]) => to)).size === 1;
  return isFromAny && first ? [['any', first[1]]] : edges;
}

function table(): string {
  const head = `| event | ${STATUSES.join(' | ')} |`;
  const rule = `|---|${STATUSES.map(() => '---|').join('')}`;
  const rows = CAUSES.map((cause) => {
    const cells = STATUSES.map((from) => TRANSITIONS[cause][from] ?? '–');
    return `| ${MEANING[cause]} | ${cells.join(' | ')} |`;
  });
  return ['Each cell is the status afterwards; – changes nothing.', '', head, rule, ...rows, ''].join('\n');
}
