import { Controller, Get, HttpCode, Post } from '@nestjs/common';
import { BoundTokensToo, CurrentPrincipal, type Principal, Scopes, Unbound } from '../../access/index.js';
import {
  BOOLEAN,
  Documented,
  INSTANT,
  json,
  named,
  nullable,
  objectOf,
  oneOf,
  STRING,
  URL_TEXT,
} from '../../platform/api-docs/index.js';
import { Purchases } from './purchases.service.js';
import { STATUSES } from './subscription-state.js';
import { type Subscription, Subscriptions } from './subscriptions.service.js';

/** Subscription info in the contract's format; times are ISO 8601. */
const subscriptionWire = (subscription: Subscription) => ({
  plan: subscription.plan,
  status: subscription.status,
  trialStartDate: subscription.trialStart?.toISOString() ?? null,
  trialEndDate: subscription.trialEnd?.toISOString() ?? null,
  currentPeriodEnd: subscription.currentPeriodEnd?.toISOString() ?? null,
  cancelAtPeriodEnd: subscription.cancelAtPeriodEnd,
});

type SubscriptionWire = ReturnType<typeof subscriptionWire>;

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

const ADDRESS = json('the URL to open in the browser', objectOf({ url: URL_TEXT }));
const NO_PROVIDER = 'no payment provider is configured, or it does not respond';

const SUBSCRIPTION_DOCS = {
  tag: TAG,
  operations: {
    get: {
      summary: 'Get the subscription',
      answers: { 200: json('the current subscription', SUBSCRIPTION) },
    },
    startTrial: {
      summary: 'Start the 30-day free trial',
      description:
        'Each user can start the trial once, from the free plan. During the trial, the route returns the same answer again.',
      answers: {
        200: json('the trial', SUBSCRIPTION),
        409: 'the trial has been used, or the user has a paid subscription',
      },
    },
    portalUrl: {
      id: 'subscription.getPortalUrl',
      summary: 'Get the URL of the billing portal',
      answers: { 200: ADDRESS, 404: 'the user has not bought anything yet', 503: NO_PROVIDER },
    },
    checkoutUrl: {
      id: 'subscription.createCheckoutUrl',
      summary: 'Get a URL for buying a subscription',
      answers: { 200: ADDRESS, 409: 'the user already has a subscription', 503: NO_PROVIDER },
    },
  },
} as const;

export const WEBHOOK_DOCS = {
  tag: TAG,
  operations: {
    receive: {
      id: 'subscription.receivePaymentEvent',
      summary: 'Receive an event of the payment provider',
      description:
        'Each event counts once, and events can arrive in any order. Types: `customer.subscription.created`, ' +
        '`.updated`, `.deleted`, `invoice.payment_failed`. Events of any other type, and events of unknown customers, ' +
        'change nothing.',
      headers: {
        'Payment-Signature': {
          description:
            '`t=…,v1=…` or a bare hex HMAC-SHA256, over the raw body. `Stripe-Signature` is read too. Required if ' +
            'PAYMENT_WEBHOOK_SECRET is set.',
        },
      },
      body: { description: 'At most 256 KiB.', type: 'application/json', schema: { type: 'object' } },
      answers: {
        200: json('the event is accepted', objectOf({ received: { const: true } })),
        400: 'the signature is missing, wrong or too old, or the event is malformed',
        413: 'the event is too large',
        503: 'payment events are not configured, or too many are being sent at once',
      },
    },
  },
} as const;

@Controller('api/v1/subscription')
@Documented(SUBSCRIPTION_DOCS)
export class SubscriptionController {
  constructor(
    private readonly subscriptions: Subscriptions,
    private readonly purchases: Purchases,
  ) {}

  @Get()
  @Scopes('documents:read', 'documents:write')
  @BoundTokensToo('tells whether the bearer may write; changes nothing')
  async get(@CurrentPrincipal() principal: Principal): Promise<SubscriptionWire> {
    return subscriptionWire(await this.subscriptions.of(principal.userId));
  }

  @Post('trial')
  @HttpCode(200)
  @Scopes('full')
  @Unbound()
  async startTrial(@CurrentPrincipal() principal: Principal): Promise<SubscriptionWire> {
    return subscriptionWire(await this.subscriptions.startTrial(principal.userId));
  }

  @Get('portal-url')
  @Scopes('full')
  @Unbound()
  async portalUrl(@CurrentPrincipal() principal: Principal): Promise<{ url: string }> {
    return { url: await this.purchases.portalUrl(principal.userId) };
  }

  @Post('checkout-url')
  @HttpCode(200)
  @Scopes('full')
  @Unbound()
  async checkoutUrl(@CurrentPrincipal() principal: Principal): Promise<{ url: string }> {
    return { url: await this.purchases.checkoutUrl(principal.userId) };
  }
}
