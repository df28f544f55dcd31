export const STATUSES = ['free', 'trial', 'active', 'past_due', 'cancelled', 'expired'] as const;
export type SubscriptionStatus = (typeof STATUSES)[number];

/** The statuses of a subscription in the payment provider's created and updated events. */
export const PROVIDER_STATUSES = [
  'trialing',
  'active',
  'past_due',
  'unpaid',
  'canceled',
  'incomplete',
  'incomplete_expired',
  'paused',
] as const;
export type ProviderStatus = (typeof PROVIDER_STATUSES)[number];

/** The content of a payment provider's event: the status after creation or update, the deletion, or a failed payment. */
export type ProviderCause = ProviderStatus | 'deleted' | 'payment_failed';

/**
 * What changes a subscription's status: the service's own trial, the end of a manual grant, or an event of the payment provider.
 */
export type Cause = 'trial_started' | 'trial_ended' | 'grant_ended' | ProviderCause;

type Edges = Readonly<Partial<Record<SubscriptionStatus, SubscriptionStatus>>>;

const fromAny = (to: SubscriptionStatus): Edges => Object.fromEntries(STATUSES.map((from) => [from, to]));

/** The whole state table; without an entry, the cause changes nothing. docs/reference/subscription-states.md shows it. */
export const TRANSITIONS: Readonly<Record<Cause, Edges>> = {
  trial_started: { free: 'trial' },
  trial_ended: { trial: 'expired' },
  grant_ended: { active: 'expired' },
  trialing: fromAny('trial'),
  active: fromAny('active'),
  past_due: fromAny('past_due'),
  unpaid: fromAny('past_due'),
  canceled: fromAny('cancelled'),
  incomplete: {},
  incomplete_expired: fromAny('expired'),
  paused: fromAny('expired'),
  deleted: fromAny('cancelled'),
  payment_failed: { trial: 'past_due', active: 'past_due', past_due: 'past_due' },
};

export const CAUSES = Object.keys(TRANSITIONS) as Cause[];

/** The status after `cause`; undefined when it changes nothing. */
export function transition(from: SubscriptionStatus, cause: Cause): SubscriptionStatus | undefined {
  return TRANSITIONS[cause][from];
}

/** The length of the service's own trial, and of a provider's trial whose end is unknown. */
export const TRIAL_MS = 30 * 24 * 60 * 60_000;

/** Everything that events decide about a user's subscription. */
export interface SubscriptionState {
  readonly plan: string;
  readonly status: SubscriptionStatus;
  readonly trialStart: Date | null;
  readonly trialEnd: Date | null;
  readonly currentPeriodEnd: Date | null;
  readonly cancelAtPeriodEnd: boolean;
  /** The start of the current uninterrupted past-due period; the grace period begins here. */
  readonly pastDueSince: Date | null;
  /** The provider's current subscription; null for the service's own trial and for manual grants. */
  readonly subscriptionId: string | null;
}

/** The state of a user without a row. */
export const FREE: SubscriptionState = {
  plan: 'free',
  status: 'free',
  trialStart: null,
  trialEnd: null,
  currentPeriodEnd: null,
  cancelAtPeriodEnd: false,
  pastDueSince: null,
  subscriptionId: null,
};

/** A state as JSON: times are ISO 8601. */
export type StoredState = {
  readonly [Key in keyof SubscriptionState]: SubscriptionState[Key] extends Date | null
    ? string | null
    : SubscriptionState[Key];
};

export function stateFromJson(stored: StoredState): SubscriptionState {
  return {
    ...stored,
    trialStart: time(stored.trialStart),
    trialEnd: time(stored.trialEnd),
    currentPeriodEnd: time(stored.currentPeriodEnd),
    pastDueSince: time(stored.pastDueSince),
  };
}

const time = (text: string | null): Date | null => (text === null ? null : new Date(text));

export function isSameState(a: SubscriptionState, b: SubscriptionState): boolean {
  const keys = Object.keys(FREE) as (keyof SubscriptionState)[];
  return keys.every((key) => a[key]?.valueOf() === b[key]?.valueOf());
}

/** Causes that are not a status of the provider's created and updated events. */
const MEANING: Readonly<Partial<Record<Cause, string>>> = {
  trial_started: '`POST /api/v1/subscription/trial`, once per user ever',
  trial_ended: 'the trial ends',
  grant_ended: 'a manual grant ends',
  deleted: '`customer.subscription.deleted`',
  payment_failed: '`invoice.payment_failed`',
};

/** The diagram and the table of docs/reference/subscription-states.md. */
export function statesInMarkdown(): string {
  return [diagram(), table()].join('\n');
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
    const meaning = MEANING[cause] ?? `created or updated: \`${cause}\``;
    return `| ${meaning} | ${cells.join(' | ')} |`;
  });
  return ['Each cell is the status afterwards; – changes nothing.', '', head, rule, ...rows, ''].join('\n');
}
