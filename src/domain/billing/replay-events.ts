import {
  type ProviderCause,
  type SubscriptionState,
  type SubscriptionStatus,
  transition,
} from './subscription-state.js';

export type EventKind = 'created' | 'updated' | 'deleted' | 'payment_failed';

/** The terms in the provider's subscription object; times in seconds since 1970. */
export interface Terms {
  readonly plan: string;
  readonly periodEnd: number | null;
  readonly cancelAtPeriodEnd: boolean;
  /** The provider's own trial; kept after it has ended. */
  readonly trialStart: number | null;
  readonly trialEnd: number | null;
}

/** One event about one subscription of the provider. */
export interface PaymentEvent {
  readonly id: string;
  readonly kind: EventKind;
  readonly cause: ProviderCause;
  /** When it happened at the provider; whole seconds. */
  readonly occurredAt: Date;
  readonly subscriptionId: string;
  /** Null for a failed payment: its object is an invoice. */
  readonly terms: Terms | null;
}

export interface ReplayedState {
  readonly state: SubscriptionState;
  /** Ids of the events that were applied; the others changed nothing. */
  readonly applied: readonly string[];
}

/** The statuses with which the event's subscription becomes the current one, replacing any other. */
const TAKES_OVER: ReadonlySet<SubscriptionStatus> = new Set(['trial', 'active', 'past_due']);

/**
 * A user's subscription after all these events, independent of the order of arrival: events are applied in the order in which
 * they happened; events of the same second in the given order, but a deletion after all others of its second. A late event is
 * thus inserted in its place, and the same events always lead to the same state.
 *
 * A deletion is final: no creation, update or failed payment of that subscription counts after it, whatever its time.
 * @param deleted subscriptions whose deletion is no longer among `events`
 */
export function replayEvents(
  base: SubscriptionState,
  events: readonly PaymentEvent[],
  deleted: Iterable<string> = [],
): ReplayedState {
  const ended = new Set(deleted);
  const unpaid = new Set<string>();
  const applied: string[] = [];
  let state = base;
  for (const event of events.toSorted(inOrder)) {
    if (event.kind === 'deleted') ended.add(event.subscriptionId);
    else if (ended.has(event.subscriptionId)) continue;
    if (event.cause === 'incomplete') unpaid.add(event.subscriptionId);
    const next = after(state, event, unpaid.has(event.subscriptionId));
    if (!next) continue;
    state = next;
    applied.push(event.id);
  }
  return { state, applied };
}

function inOrder(a: PaymentEvent, b: PaymentEvent): number {
  return a.occurredAt.getTime() - b.occurredAt.getTime() || rank(a) - rank(b);
}

const rank = ({ kind }: PaymentEvent): number => (kind === 'deleted' ? 1 : 0);

/** The state after one event; undefined when it changes nothing. */
function after(
  state: SubscriptionState,
  event: PaymentEvent,
  wasUnpaid: boolean,
): SubscriptionState | undefined {
  const from = statusAt(state, event.occurredAt);
  const to = transition(from, event.cause);
  if (!to) return undefined;
  if (isAboutAnother(state, event, from, wasUnpaid) && !takesOver(event, to)) return undefined;
  return {
    ...state,
    ...termsAfter(state, event),
    status: to,
    pastDueSince: to === 'past_due' ? (state.pastDueSince ?? event.occurredAt) : null,
    subscriptionId: event.subscriptionId,
  };
}

/** The status at `time`, with an expired trial or grant taken into account. The same rule in SQL is `hasRunOut`. */
function statusAt(state: SubscriptionState, time: Date): SubscriptionStatus {
  const { status, trialEnd, currentPeriodEnd, subscriptionId } = state;
  const hasPassed = (end: Date | null): boolean => end !== null && end <= time;
  const isTrialOver = status === 'trial' && hasPassed(trialEnd);
  const isGrantOver = status === 'active' && subscriptionId === null && hasPassed(currentPeriodEnd);
  const end = isTrialOver ? 'trial_ended' : isGrantOver ? 'grant_ended' : undefined;
  return (end && transition(status, end)) ?? status;
}

/**
 * Whether the event is about a subscription other than the current one. While the service's own trial runs, a subscription that
 * was never paid for counts as another: a user who abandons a purchase keeps the trial.
 */
function isAboutAnother(
  { subscriptionId }: SubscriptionState,
  event: PaymentEvent,
  from: SubscriptionStatus,
  wasUnpaid: boolean,
): boolean {
  return subscriptionId === null ? wasUnpaid && from === 'trial' : subscriptionId !== event.subscriptionId;
}

function takesOver({ kind }: PaymentEvent, to: SubscriptionStatus): boolean {
  return (kind === 'created' || kind === 'updated') && TAKES_OVER.has(to);
}

/** What the provider does not specify stays: the dates of the service's own trial, the period of the same subscription. */
function termsAfter(
  state: SubscriptionState,
  { terms, subscriptionId }: PaymentEvent,
): Partial<SubscriptionState> {
  if (!terms) return {};
  const isSame = state.subscriptionId === subscriptionId;
  return {
    plan: terms.plan,
    ...(terms.trialEnd === null
      ? {}
      : { trialStart: time(terms.trialStart), trialEnd: time(terms.trialEnd) }),
    currentPeriodEnd: time(terms.periodEnd) ?? (isSame ? state.currentPeriodEnd : null),
    cancelAtPeriodEnd: terms.cancelAtPeriodEnd,
  };
}

const time = (seconds: number | null): Date | null => (seconds === null ? null : new Date(seconds * 1000));
