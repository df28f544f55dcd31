import { isUUID } from 'class-validator';
import { randomUUID } from 'node:crypto';
import { BadRequest } from '../../platform/http/index.js';
import type { ProviderIds } from './payment-provider.js';
import type { EventKind, PaymentEvent, Terms } from './replay-events.js';
import { PROVIDER_STATUSES, type ProviderStatus, TRIAL_MS } from './subscription-state.js';

type Path = readonly (string | number)[];

const ID = /^[\x21-\x7e]{1,255}$/;
/** The end of the year 9999. */
const LAST_SECOND = 253_402_300_799;

/** The own property at a path inside a JSON value; undefined if the path does not exist. */
export function valueAt(value: unknown, ...path: Path): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Record<string | number, unknown>)[key]
        : undefined,
    value,
  );
}

/** An id, or the id of an expanded object in its place; null for anything else. */
export function idOf(value: unknown): string | null {
  const id = typeof value === 'object' ? valueAt(value, 'id') : value;
  return typeof id === 'string' && ID.test(id) ? id : null;
}

/** The id at the first of the places that has one. */
export function firstId(value: unknown, places: readonly Path[]): string | null {
  for (const place of places) {
    const id = idOf(valueAt(value, ...place));
    if (id) return id;
  }
  return null;
}

/** A time in seconds since 1970; null when absent. @throws BadRequest when present but not a time */
export function secondsAt(value: unknown, ...path: Path): number | null {
  const seconds = valueAt(value, ...path) ?? null;
  if (seconds === null) return null;
  if (typeof seconds === 'number' && Number.isInteger(seconds) && seconds >= 0 && seconds <= LAST_SECOND)
    return seconds;
  throw new BadRequest(`${path.join('.')} must be a Unix timestamp in seconds`);
}

/** What an object says about a subscription. */
export interface About extends Pick<PaymentEvent, 'cause' | 'terms'> {
  /** Null means the current subscription, whichever that is. */
  readonly subscriptionId: string | null;
}

/** Excludes lone surrogates as well: PostgreSQL cannot store them. */
const PLAN = /^[^\p{Cc}\p{Cs}]{1,255}$/u;

/** The places of the subscription's id in the API versions, oldest first. */
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

/** The events that the service processes; all other types are accepted and ignored. */
export const EVENT_TYPES = {
  'customer.subscription.created': 'created',
  'customer.subscription.updated': 'updated',
  'customer.subscription.deleted': 'deleted',
  'invoice.payment_failed': 'payment_failed',
} as const satisfies Record<string, EventKind>;
export type EventType = keyof typeof EVENT_TYPES;

const READERS: Readonly<Record<EventKind, (object: object, created: number) => About | undefined>> = {
  created: ofSubscription,
  updated: ofSubscription,
  deleted: ofEndedSubscription,
  payment_failed: ofUnpaidInvoice,
};

/** Characters of an unknown type that are logged. */
const LOGGED_TYPE = 100;

/** An event as delivered. */
export interface Delivery {
  /** Null when an event of an ignored type has none. */
  readonly id: string | null;
  /** An unknown type is cut to 100 characters. */
  readonly type: string;
  /** Undefined when the event requires no action. */
  readonly notice?: SubscriptionNotice;
}

export interface SubscriptionNotice {
  readonly event: Omit<PaymentEvent, 'subscriptionId'> & About;
  /** The event's customer at the provider, and the service's user, if the object contains them. */
  readonly customerId: string | null;
  readonly userId: string | null;
}

/**
 * Reads a delivered event, in the formats of the provider's API versions before and after billing periods moved to the
 * subscription's items. Only used fields are validated: for an ignored type that is only the type.
 * @param receivedAt the time for events that have none
 * @throws BadRequest when a used field is missing or invalid
 */
export function readDelivery(body: Record<string, unknown>, receivedAt: Date): Delivery {
  const id = idOf(valueAt(body, 'id'));
  const type = valueAt(body, 'type');
  if (typeof type !== 'string') throw new BadRequest('the event has no type');
  if (!isKnown(type)) return { id, type: type.slice(0, LOGGED_TYPE) };
  if (!id) throw new BadRequest('the event has no id');

  const object = valueAt(body, 'data', 'object');
  if (typeof object !== 'object' || object === null) throw new BadRequest('the event has no object');
  const kind = EVENT_TYPES[type];
  const created = secondsAt(body, 'created') ?? Math.floor(receivedAt.getTime() / 1000);
  const about = READERS[kind](object, created);
  if (!about) return { id, type };
  const event = { id, kind, occurredAt: new Date(created * 1000), ...about };
  return {
    id,
    type,
    notice: { event, customerId: idOf(valueAt(object, 'customer')), userId: userOf(object) },
  };
}

const isKnown = (type: string): type is EventType => Object.hasOwn(EVENT_TYPES, type);

const DAY_S = 24 * 60 * 60;

/** The user of a sample event, with the provider's ids if they are known. */
export interface SampleSubject extends ProviderIds {
  readonly userId: string;
}

export type SampleEvent = Readonly<Record<string, unknown>> & { readonly id: string };

/**
 * An event in the provider's format, for trying billing without an account there.
 * @param object a subscription or an invoice to send instead of a generated one, or a whole event that contains one; its customer
 *   and user are replaced by the subject's
 */
export function sampleEvent(
  type: EventType,
  subject: SampleSubject,
  now: Date,
  object?: unknown,
): SampleEvent {
  const created = Math.floor(now.getTime() / 1000);
  const given = valueAt(object, 'data', 'object') ?? object;
  return {
    id: `evt_sample_${randomUUID().replaceAll('-', '')}`,
    object: 'event',
    api_version: '2026-10-28.endive',
    created,
    data: { object: { ...(given ?? sampleObject(type, subject, created)), ...aboutSubject(subject) } },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  };
}

/** Names a customer only if one is stored: an invented one would be stored as a real one. */
function aboutSubject({ userId, customerId }: SampleSubject): object {
  return { customer: customerId, metadata: { userId } };
}

function sampleObject(type: EventType, subject: SampleSubject, created: number): object {
  const id = subject.subscriptionId ?? `sub_sample_${subject.userId.replaceAll('-', '')}`;
  if (EVENT_TYPES[type] === 'payment_failed') return invoiceOf(id, subject, created);
  return subscription(id, EVENT_TYPES[type] === 'deleted' ? 'canceled' : 'active', created);
}

function subscription(id: string, status: string, created: number): object {
  const price = { id: 'price_sample', object: 'price', currency: 'eur', lookup_key: 'pro', unit_amount: 500 };
  const period = { current_period_start: created, current_period_end: created + 30 * DAY_S };
  const item = {
    id: 'si_sample',
    object: 'subscription_item',
    ...period,
    price,
    quantity: 1,
    subscription: id,
  };
  return {
    id,
    object: 'subscription',
    cancel_at: null,
    cancel_at_period_end: false,
    canceled_at: status === 'canceled' ? created : null,
    created,
    currency: 'eur',
    ended_at: status === 'canceled' ? created : null,
    items: { object: 'list', data: [item], has_more: false },
    livemode: false,
    start_date: created,
    status,
    trial_end: null,
    trial_start: null,
  };
}

function invoiceOf(subscriptionId: string, { userId }: SampleSubject, created: number): object {
  const details = { metadata: { userId }, subscription: subscriptionId };
  return {
    id: `in_sample_${created}`,
    object: 'invoice',
    amount_due: 500,
    amount_paid: 0,
    attempt_count: 1,
    billing_reason: 'subscription_cycle',
    collection_method: 'charge_automatically',
    created,
    currency: 'eur',
    livemode: false,
    parent: { quote_details: null, subscription_details: details, type: 'subscription_details' },
    status: 'open',
  };
}
