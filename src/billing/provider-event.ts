import { BadRequest } from '../platform/http/index.js';
import type { EventKind, PaymentEvent } from './replay-events.js';
import { idOf, secondsAt, valueAt } from './provider-fields.js';
import {
  type About,
  ofEndedSubscription,
  ofSubscription,
  ofUnpaidInvoice,
  userOf,
} from './provider-objects.js';

/** The events that are acted upon; every other type is let pass. */
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

/** Characters of an unknown type that go into the log. */
const LOGGED_TYPE = 100;

/** An event as it was delivered. */
export interface Delivery {
  /** Null when an event that is not acted upon has none. */
  readonly id: string | null;
  /** An unknown type is cut to 100 characters. */
  readonly type: string;
  /** Undefined when there is nothing in it to act upon. */
  readonly notice?: SubscriptionNotice;
}

export interface SubscriptionNotice {
  readonly event: Omit<PaymentEvent, 'subscriptionId'> & About;
  /** Who it is about: the provider's name for the user, and ours, as far as the object says. */
  readonly customerId: string | null;
  readonly userId: string | null;
}

/**
 * Reads what the provider has sent, in the shapes of its API versions before and after billing periods moved to the
 * subscription's items. Only what is used is validated: of a type that is not acted upon that is the type alone.
 * @param receivedAt stands in for the time of an event that has none
 * @throws BadRequest when a field that is used is missing or is not what it must be
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
