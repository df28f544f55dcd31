import { BadRequest } from '../../platform/http/index.js';
import type { EventKind, PaymentEvent } from './replay-events.js';
import { idOf, secondsAt, valueAt } from './provider-fields.js';
import {
  type About,
  ofEndedSubscription,
  ofSubscription,
  ofUnpaidInvoice,
  userOf,
} from './provider-objects.js';

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
