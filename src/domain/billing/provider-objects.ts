import { isUUID } from 'class-validator';
import { BadRequest } from '../../platform/http/index.js';
import type { PaymentEvent, Terms } from './replay-events.js';
import { firstId, idOf, secondsAt, valueAt } from './provider-fields.js';
import { TRIAL_MS } from './subscription-state.js';
import { PROVIDER_STATUSES, type ProviderStatus } from './transitions.js';

/** What an object says about a subscription. */
export interface About extends Pick<PaymentEvent, 'cause' | 'terms'> {
  /** Null means the current subscription, whichever that is. */
  readonly subscriptionId: string | null;
}

/** Excludes lone surrogates as well: PostgreSQL cannot store them. */
const PLAN = /^[^\p{Cc}\p{Cs}]{1,255}$/u;

/** Where the API versions have put it, oldest first. */
const SUBSCRIPTION_OF_INVOICE = [
  ['subscription'],
  ['parent', 'subscription_details', 'subscription'],
  ['lines', 'data', 0, 'parent', 'subscription_item_details', 'subscription'],
  ['lines', 'data', 0, 'subscription'],
];
const USER = [
  ['metadata', 'userId'],
  ['parent', 'subscription_details', 'metadata', 'userId'],
  ['subscription_details', 'metadata', 'userId'],
];

/** An invoice that could not be paid; undefined if it is not for a subscription. */
export function ofUnpaidInvoice(invoice: object): About | undefined {
  const subscriptionId = firstId(invoice, SUBSCRIPTION_OF_INVOICE);
  const isOneOff = ['billing_reason', 'parent', 'lines'].some((key) => valueAt(invoice, key) !== undefined);
  return subscriptionId || !isOneOff ? { cause: 'payment_failed', subscriptionId, terms: null } : undefined;
}

/** A subscription at its end. @throws BadRequest */
export function ofEndedSubscription(subscription: object, created: number): About {
  const subscriptionId = subscriptionIdOf(subscription);
  return { cause: 'deleted', subscriptionId, terms: termsOf(subscription, 'canceled', created) };
}

/** A subscription as it is now; undefined for an unknown status. @throws BadRequest */
export function ofSubscription(subscription: object, created: number): About | undefined {
  const subscriptionId = subscriptionIdOf(subscription);
  const status = valueAt(subscription, 'status');
  if (typeof status !== 'string') throw new BadRequest('the subscription has no status');
  const cause = PROVIDER_STATUSES.find((known) => known === status);
  return cause && { cause, subscriptionId, terms: termsOf(subscription, cause, created) };
}

/** The service's user id, if the object contains it. */
export function userOf(object: object): string | null {
  const userId = firstId(object, USER);
  return isUUID(userId) ? userId : null;
}

function subscriptionIdOf(subscription: object): string {
  const id = idOf(valueAt(subscription, 'id'));
  if (!id) throw new BadRequest('the subscription has no id');
  return id;
}

function termsOf(subscription: object, status: ProviderStatus, created: number): Terms {
  const periodEnd = periodEndOf(subscription);
  const key = valueAt(subscription, 'items', 'data', 0, 'price', 'lookup_key');
  return {
    plan: typeof key === 'string' && PLAN.test(key) ? key : 'pro',
    periodEnd,
    cancelAtPeriodEnd: isCancelledAtPeriodEnd(subscription, periodEnd),
    ...trialOf(subscription, status, { periodEnd, fallback: created + TRIAL_MS / 1000 }),
  };
}

/** The period end of the subscription, or the latest one of its items. */
function periodEndOf(subscription: object): number | null {
  const own = secondsAt(subscription, 'current_period_end');
  if (own !== null) return own;
  const items = valueAt(subscription, 'items', 'data');
  const ends = (Array.isArray(items) ? items : []).flatMap(
    (item) => secondsAt(item, 'current_period_end') ?? [],
  );
  return ends.length > 0 ? Math.max(...ends) : null;
}

/** With flexible billing, the portal sets the time but not the flag. */
function isCancelledAtPeriodEnd(subscription: object, periodEnd: number | null): boolean {
  const cancelAt = secondsAt(subscription, 'cancel_at');
  const isInTime = cancelAt !== null && periodEnd !== null && cancelAt <= periodEnd;
  return isInTime || valueAt(subscription, 'cancel_at_period_end') === true;
}

function trialOf(
  subscription: object,
  status: ProviderStatus,
  { periodEnd, fallback }: { periodEnd: number | null; fallback: number },
): Pick<Terms, 'trialStart' | 'trialEnd'> {
  const start = secondsAt(subscription, 'trial_start');
  const trialEnd =
    secondsAt(subscription, 'trial_end') ?? (status === 'trialing' ? (periodEnd ?? fallback) : null);
  return { trialStart: start !== null && trialEnd !== null && start < trialEnd ? start : null, trialEnd };
}
