import {
  BOOLEAN,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  oneOf,
  STRING,
  URL_TEXT,
} from '../api-docs/index.js';
import type { Subscription } from './subscriptions.service.js';
import { STATUSES } from './transitions.js';

/** Subscription info in the contract's format; times are ISO 8601. */
export interface SubscriptionWire {
  plan: string;
  status: string;
  trialStartDate: string | null;
  trialEndDate: string | null;
  currentPeriodEnd: string | null;
  cancelAtPeriodEnd: boolean;
}

export function subscriptionWire(subscription: Subscription): SubscriptionWire {
  return {
    plan: subscription.plan,
    status: subscription.status,
    trialStartDate: subscription.trialStart?.toISOString() ?? null,
    trialEndDate: subscription.trialEnd?.toISOString() ?? null,
    currentPeriodEnd: subscription.currentPeriodEnd?.toISOString() ?? null,
    cancelAtPeriodEnd: subscription.cancelAtPeriodEnd,
  };
}

const TAG = 'Subscription';

const SUBSCRIPTION = named(
  'Subscription',
  objectOf<SubscriptionWire>({
    plan: STRING,
    status: oneOf(...STATUSES),
    trialStartDate: nullable(INSTANT),
    trialEndDate: nullable(INSTANT),
    currentPeriodEnd: nullable(INSTANT),
    cancelAtPeriodEnd: BOOLEAN,
  }),
);

const ADDRESS = json('where to send the browser', objectOf<{ url: string }>({ url: URL_TEXT }));
const NO_PROVIDER = 'no payment provider is configured, or it does not answer';

export const SUBSCRIPTION_DOCS = {
  tag: TAG,
  operations: {
    get: { summary: 'The subscription', answers: { 200: json('as it is now', SUBSCRIPTION) } },
    startTrial: {
      summary: 'Start the free trial of 30 days',
      description: 'Once per user ever, from the free plan. During the trial it answers the same again.',
      answers: { 200: json('the trial', SUBSCRIPTION), 409: 'the trial was used, or something is bought' },
    },
    portalUrl: {
      summary: 'Where to manage what was bought',
      answers: { 200: ADDRESS, 404: 'nothing has been bought yet', 503: NO_PROVIDER },
    },
    checkoutUrl: {
      summary: 'Where to buy a subscription',
      answers: { 200: ADDRESS, 409: 'there is a subscription already', 503: NO_PROVIDER },
    },
  },
} as const;

export const WEBHOOK_DOCS = {
  tag: TAG,
  operations: {
    receive: {
      summary: 'Events of the payment provider',
      description:
        'Each event counts once, in whatever order they come. Types: `customer.subscription.created`, `.updated`, ' +
        '`.deleted`, `invoice.payment_failed`; every other type, and one of an unknown customer, changes nothing.',
      headers: {
        'Payment-Signature': {
          description:
            '`t=…,v1=…` or a bare hex HMAC-SHA256, over the raw body; `Stripe-Signature` is read as well. Required ' +
            'where PAYMENT_WEBHOOK_SECRET is set.',
        },
      },
      body: { description: 'At most 256 KiB.', type: 'application/json', schema: { type: 'object' } },
      answers: {
        200: json('it was taken', objectOf<{ received: true }>({ received: { const: true } })),
        400: 'the signature is missing, wrong or too old, or the event is no event',
        413: 'the event is too large',
        503: 'payment events are not configured, or too many of them are being sent at a time',
      },
    },
  },
} as const;
