import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import supertest from 'supertest';

export const WEBHOOK_SECRET = 'whsec_of_tests';
export const WEBHOOK = '/api/v1/webhooks/payment';

/** An event in the provider's format. */
export interface ProviderEvent {
  readonly id: string;
  readonly type: string;
  readonly created: number;
  readonly data: { readonly object: Record<string, unknown> };
}

const seconds = (time: Date): number => Math.floor(time.getTime() / 1000);
const newId = (prefix: string): string => `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 24)}`;

/** The two versions of its API: billing periods on the subscription, or on each of its items. */
export type ApiShape = 'periods on the subscription' | 'periods on the items';

export interface SubscriptionOptions {
  readonly status?: string;
  readonly periodEnd?: Date;
  readonly lookupKey?: string | null;
  /** Merged into the object. */
  readonly fields?: Record<string, unknown>;
}

/** A subscription at the provider. The test sends its events. */
export class ProviderSubscription {
  readonly id = newId('sub');

  constructor(
    readonly userId: string,
    readonly customerId = newId('cus'),
    readonly shape: ApiShape = 'periods on the items',
  ) {}

  created(at: Date, options: SubscriptionOptions = {}): ProviderEvent {
    return eventOf('customer.subscription.created', at, this.object(at, options));
  }

  updated(at: Date, options: SubscriptionOptions = {}): ProviderEvent {
    return eventOf('customer.subscription.updated', at, this.object(at, options));
  }

  deleted(at: Date, options: SubscriptionOptions = {}): ProviderEvent {
    return eventOf('customer.subscription.deleted', at, this.object(at, { status: 'canceled', ...options }));
  }

  paymentFailed(at: Date, fields: Record<string, unknown> = {}): ProviderEvent {
    return eventOf('invoice.payment_failed', at, { ...this.invoice(at), ...fields });
  }

  /** Modelled on the provider's documented object, with fields that the service does not know. */
  private object(
    at: Date,
    { status = 'active', periodEnd, lookupKey = 'pro', fields }: SubscriptionOptions,
  ): object {
    const end = seconds(periodEnd ?? new Date(at.getTime() + 30 * 24 * 3600_000));
    const period = { current_period_start: end - 30 * 24 * 3600, current_period_end: end };
    const onItems = this.shape === 'periods on the items';
    return {
      id: this.id,
      object: 'subscription',
      application: null,
      automatic_tax: { disabled_reason: null, enabled: false, liability: null },
      billing_cycle_anchor: seconds(at),
      cancel_at: null,
      cancel_at_period_end: false,
      canceled_at: status === 'canceled' ? seconds(at) : null,
      cancellation_details: { comment: null, feedback: null, reason: null },
      collection_method: 'charge_automatically',
      created: seconds(at),
      currency: 'eur',
      ...(onItems ? {} : period),
      customer: this.customerId,
      default_payment_method: 'pm_1PgafmB7WZ01zgkW6dKueIc5',
      discounts: [],
      ended_at: status === 'canceled' ? seconds(at) : null,
      items: {
        object: 'list',
        data: [
          {
            id: newId('si'),
            object: 'subscription_item',
            created: seconds(at),
            ...(onItems ? period : {}),
            discounts: [],
            metadata: {},
            price: {
              id: 'price_1PgafmB7WZ01zgkW6dKueIc5',
              object: 'price',
              active: true,
              billing_scheme: 'per_unit',
              currency: 'eur',
              lookup_key: lookupKey,
              product: 'prod_QXg1hqf4jFNsqG',
              recurring: { interval: 'month', interval_count: 1, usage_type: 'licensed' },
              type: 'recurring',
              unit_amount: 500,
              unit_amount_decimal: '500',
            },
            quantity: 1,
            subscription: this.id,
            tax_rates: [],
          },
        ],
        has_more: false,
        total_count: 1,
        url: `/v1/subscription_items?subscription=${this.id}`,
      },
      latest_invoice: newId('in'),
      livemode: false,
      metadata: { userId: this.userId },
      pause_collection: null,
      schedule: null,
      start_date: seconds(at),
      status,
      trial_end: null,
      trial_settings: { end_behavior: { missing_payment_method: 'create_invoice' } },
      trial_start: null,
      a_field_of_next_year: { nested: [{ deeply: true }] },
      ...fields,
    };
  }

  private invoice(at: Date): object {
    const old = { subscription: this.id, subscription_details: { metadata: { userId: this.userId } } };
    const details = { metadata: { userId: this.userId }, subscription: this.id };
    const recent = {
      parent: { quote_details: null, subscription_details: details, type: 'subscription_details' },
    };
    return {
      id: newId('in'),
      object: 'invoice',
      account_country: 'DE',
      amount_due: 500,
      amount_paid: 0,
      amount_remaining: 500,
      attempt_count: 1,
      attempted: true,
      billing_reason: 'subscription_cycle',
      collection_method: 'charge_automatically',
      created: seconds(at),
      currency: 'eur',
      customer: this.customerId,
      customer_email: 'somebody@example.org',
      lines: { object: 'list', data: [], has_more: false, total_count: 0, url: '/v1/invoices/in_1/lines' },
      livemode: false,
      metadata: {},
      next_payment_attempt: seconds(at) + 3 * 24 * 3600,
      ...(this.shape === 'periods on the items' ? recent : old),
      status: 'open',
      a_field_of_next_year: null,
    };
  }
}

/** An event of any type. */
export function eventOf(type: string, at: Date, object: object): ProviderEvent {
  const head = { id: newId('evt'), object: 'event', api_version: '2026-10-28.endive', created: seconds(at) };
  const rest = { livemode: false, pending_webhooks: 1, request: { id: null, idempotency_key: null }, type };
  return { ...head, ...rest, data: { object: object as Record<string, unknown> } };
}

/** The signature header, computed without the provider's library, so that both must agree. */
export function signed(body: string | Buffer, at: Date, secret = WEBHOOK_SECRET): string {
  const t = seconds(at);
  return `t=${t},v1=${createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')}`;
}

/** Posts an event like the provider. */
export function deliver(url: string, event: object, at: Date, secret = WEBHOOK_SECRET): supertest.Test {
  const body = JSON.stringify(event);
  return postRaw(url, body, { 'Stripe-Signature': signed(body, at, secret) });
}

export function postRaw(url: string, body: string | Buffer, headers: Record<string, string>): supertest.Test {
  const test = supertest(url).post(WEBHOOK).set('Content-Type', 'application/json').set(headers);
  return test.send(body as string);
}

/** A request to the fake provider. */
export interface ProviderRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** The decoded form: `line_items[0][price]` and the like. */
  readonly form: Readonly<Record<string, string>>;
}

type Answer = (request: ProviderRequest, response: ServerResponse) => void | Promise<void>;

export interface FakeProvider {
  /** Value for STRIPE_API_BASE. */
  readonly url: string;
  readonly requests: ProviderRequest[];
  /** Customers that were created, without those that a repeated key returned again. */
  readonly customers: string[];
  /** Replaces the usual answer from now on; undefined: the usual one. */
  answer: Answer | undefined;
  /** Awaited while an object is created and its key is in use. */
  pause: () => PromiseLike<unknown>;
  close(): Promise<void>;
}

/** The part of the provider's API that the service uses, including idempotency keys, on a free port. */
export async function startProvider(): Promise<FakeProvider> {
  const answered = new Map<string, string | undefined>();
  const server = createServer((incoming, response) => {
    void received(incoming).then(async (request) => {
      provider.requests.push(request);
      await (provider.answer ?? usual)(request, response);
    });
  });
  const usual: Answer = async ({ method, path, form, headers }, response) => {
    if (method === 'DELETE') {
      sendJson(response, 200, '{"deleted":true}');
      return;
    }
    const key = String(headers['idempotency-key']);
    if (answered.has(key)) {
      const known = answered.get(key);
      if (known === undefined) sendError(response, 409, { code: 'idempotency_key_in_use' });
      else sendJson(response, 200, known);
      return;
    }
    answered.set(key, undefined);
    await provider.pause();
    const body = JSON.stringify(made(path, form));
    answered.set(key, body);
    sendJson(response, 200, body);
  };
  const made = (path: string, form: ProviderRequest['form']): object => {
    if (path === '/v1/customers') {
      const id = newId('cus');
      provider.customers.push(id);
      return { id, object: 'customer', email: form.email, metadata: { userId: form['metadata[userId]'] } };
    }
    const [, page] = /^\/v1\/(billing_portal|checkout)\/sessions$/.exec(path) ?? [];
    return {
      id: newId(page === 'checkout' ? 'cs' : 'bps'),
      url: `https://pay.example/${page}/${form.customer}`,
    };
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const provider: FakeProvider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    customers: [],
    answer: undefined,
    pause: () => Promise.resolve(),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return provider;
}

async function received(request: IncomingMessage): Promise<ProviderRequest> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  const form = Object.fromEntries(new URLSearchParams(body));
  return { method: request.method ?? '', path: request.url ?? '', headers: request.headers, form };
}

export function sendJson(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': newId('req') }).end(body);
}

/** An error in the provider's format. */
export function sendError(response: ServerResponse, status: number, error: Record<string, string>): void {
  const body = { error: { type: 'invalid_request_error', message: 'SECRET-OF-THE-PROVIDER', ...error } };
  sendJson(response, status, JSON.stringify(body));
}
