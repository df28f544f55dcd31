import { Injectable } from '@nestjs/common';
import { createRequire } from 'node:module';
import type Stripe from 'stripe';
import { Configuration } from '../../platform/config/index.js';
import { NotFound, ServiceUnavailable } from '../../platform/http/index.js';
import { Log } from '../../platform/log.js';

const require = createRequire(import.meta.url);

/** The payment provider's library, loaded on first use: a service without payments saves 20 MB. */
export const stripe = (): typeof Stripe => require('stripe') as typeof Stripe;

/** The timeout of one attempt, including the body. With two retries, a caller waits for a quarter of a minute at most. */
const TIMEOUT_MS = 4_000;
const RETRIES = 2;

export function stripeClient(secretKey: string, apiBase: string): Stripe {
  const { protocol, hostname, port } = new URL(apiBase);
  const isHttp = protocol === 'http:';
  const Client = stripe();
  return new Client(secretKey, {
    protocol: isHttp ? 'http' : 'https',
    host: hostname,
    port: port || (isHttp ? 80 : 443),
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
    httpClient: Client.createFetchHttpClient(ask), // its timeout covers the whole answer
  });
}

/**
 * Returns an answer whose body matches its status, whatever the provider, or a proxy in front of it, has sent. The library checks
 * only `error`: it takes a 500 without one for a success; for JSON other than an object it throws where no caller can catch it,
 * which ends the process; for anything but JSON it drops the status. A redirect is treated as a fault: following it would send
 * the key to another host. Danger: with `redirect: 'error'`, Node.js before 24 loses a request's timeout in the next garbage
 * collection (nodejs/undici#4627), and the answer may take forever.
 */
const ask: typeof fetch = async (url, init) => {
  const answer = await fetch(url, { ...init, redirect: 'manual' });
  const text = await answer.text();
  const body = objectIn(text);
  const isTold = body !== undefined && (answer.ok || (answer.status >= 400 && Boolean(body.error)));
  const headers = new Headers(answer.headers);
  headers.delete('stripe-notice'); // the library would print it
  return new Response(isTold ? text : '{"error":{}}', { status: answer.status, headers });
};

function objectIn(json: string): { readonly error?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** One attempt: the cleanup after deleted accounts is retried every night. */
const SINGLE_ATTEMPT = { maxNetworkRetries: 0, timeout: 10_000 };

export interface Purchase {
  readonly userId: string;
  readonly customerId: string;
  readonly priceId: string;
}

/** A user's ids at the payment provider. */
export interface ProviderIds {
  readonly customerId: string | null;
  readonly subscriptionId: string | null;
}

/** The payment provider did not carry out a request; it can be repeated. */
export class ProviderRefusal extends Error {
  /** Whether requests for every other user would fail the same way now. */
  readonly isOutage: boolean;

  constructor(status: number | undefined) {
    super(`the payment provider answered ${status ?? 'nothing'}`);
    this.isOutage = status === undefined || status >= 500 || OUTAGES.has(status);
  }
}

/** Statuses that do not concern the user in the request: a wrong key, too many requests. */
const OUTAGES = new Set([401, 403, 429]);

/**
 * The payment provider's API, through its own library. A fault there is a 503 here, and no text from the provider leaves the
 * service.
 */
@Injectable()
export class PaymentProvider {
  private readonly stripe: Stripe | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly log: Log,
  ) {
    const { stripeSecretKey, stripeApiBase } = configuration;
    if (stripeSecretKey) this.stripe = stripeClient(stripeSecretKey, stripeApiBase);
  }

  get isConfigured(): boolean {
    return this.stripe !== undefined;
  }

  /** @throws ServiceUnavailable when no provider is configured */
  requireConfigured(): void {
    this.client();
  }

  /** Creates a customer and returns its id; for a limited time the same `idempotencyKey` returns the same customer. */
  createCustomer(userId: string, email: string, idempotencyKey: string): Promise<string> {
    const { customers } = this.client();
    const customer = { email, metadata: { userId } };
    return this.ask(
      'create a customer',
      async () => (await customers.create(customer, { idempotencyKey })).id,
    );
  }

  /**
   * The address where a customer manages purchases; it must be used soon, and only once. @throws NotFound for a deleted customer
   */
  portalUrl(customerId: string): Promise<string> {
    const { billingPortal } = this.client();
    const session = { customer: customerId, return_url: this.returnUrl };
    return this.ask('open the portal', async () => (await billingPortal.sessions.create(session)).url);
  }

  /** The address where a customer buys a subscription. @throws NotFound for a deleted customer */
  checkoutUrl({ userId, customerId, priceId }: Purchase): Promise<string> {
    const { checkout } = this.client();
    const session: Stripe.Checkout.SessionCreateParams = {
      mode: 'subscription',
      customer: customerId,
      client_reference_id: userId,
      line_items: [{ price: priceId, quantity: 1 }],
      // Subsequent events are about the subscription, and identify the user by this.
      subscription_data: { metadata: { userId } },
      success_url: this.returnUrl,
      cancel_url: this.returnUrl,
    };
    return this.ask('open a checkout', async () => (await checkout.sessions.create(session)).url);
  }

  /**
   * Cancels the subscription at once, then deletes the customer, and with it other subscriptions, the payment details and
   * purchases in progress. What is already deleted is not an error.
   * @throws ProviderRefusal, ServiceUnavailable when no provider is configured
   */
  async cancelAndDeleteCustomer({ customerId, subscriptionId }: ProviderIds): Promise<void> {
    const { customers, subscriptions } = this.client();
    if (subscriptionId !== null) await gone(() => subscriptions.cancel(subscriptionId, {}, SINGLE_ATTEMPT));
    if (customerId !== null) await gone(() => customers.del(customerId, {}, SINGLE_ATTEMPT));
  }

  private get returnUrl(): string {
    return this.configuration.billingReturnUrl ?? this.configuration.publicUrl;
  }

  private client(): Stripe {
    if (!this.stripe) throw new ServiceUnavailable('no payment provider is configured', 3600);
    return this.stripe;
  }

  /** Returns the one text needed from an answer. Any failure counts as a fault of the provider. */
  private async ask(what: string, request: () => Promise<unknown>): Promise<string> {
    let fault: Partial<Stripe.errors.StripeError> & Partial<Error> = { name: 'unusable answer' };
    try {
      const answer = await request();
      if (typeof answer === 'string' && USABLE.test(answer)) return answer;
    } catch (error) {
      fault = error as Error;
    }
    const { name, type, code, statusCode, requestId, param } = fault;
    this.log.warn({ name, type, code, statusCode, providerRequestId: requestId }, `could not ${what}`);
    if (code === 'resource_missing' && param === 'customer') throw new NotFound('the customer is gone');
    throw new ServiceUnavailable('the payment provider is not available', 30);
  }
}

async function gone(request: () => Promise<unknown>): Promise<void> {
  try {
    await request();
  } catch (error) {
    const { code, statusCode } = error as Partial<Stripe.errors.StripeError>;
    if (code !== 'resource_missing') throw new ProviderRefusal(statusCode);
  }
}

/** An id or an address: nothing that a database or a browser would reject. */
const USABLE = /^(?:https?:\/\/|[\w-]+$)[^\p{Cc}\s]*$/u;
