import { randomUUID } from 'node:crypto';
import { valueAt } from './provider-fields.js';
import { EVENT_TYPES, type EventType } from './provider-event.js';

const DAY_S = 24 * 60 * 60;

/** The user of a sample event, with the provider's ids if they are known. */
export interface SampleSubject {
  readonly userId: string;
  readonly customerId: string | null;
  readonly subscriptionId: string | null;
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

/** Without a stored customer, none is named: it would be stored as a real one. */
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
