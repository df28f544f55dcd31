import { Controller, HttpCode, Injectable, Post, Req } from '@nestjs/common';
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import { Public, Unlimited } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { Clock } from '../../platform/clock.js';
import { Configuration } from '../../platform/config/index.js';
import { BadRequest, networkKey, readBody, ServiceUnavailable, WorkSlot } from '../../platform/http/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch.js';
import { type FairSemaphore, Queues } from '../../platform/limits/index.js';
import { PaymentEvents } from './payment-events.service.js';
import { stripe } from './payment-provider.js';
import { WEBHOOK_DOCS } from './subscription.controller.js';

const TOLERANCE_S = 300;
const HEADERS = ['payment-signature', 'stripe-signature'] as const;

/** `t=…,v1=…[,v1=…]`: rejects anything that the provider's library could fail on. */
const TIMED = /^\w+=\w+(?:,\w+=\w+)*$/;
const TIME = /(?:^|,)t=(\d{1,12})(?:,|$)/;
const BARE = /^[0-9a-f]{64}$/i;

/** Fails on invalid UTF-8, for which the library would verify a repaired copy, not the bytes that were sent. */
const utf8 = new TextDecoder('utf8', { fatal: true, ignoreBOM: true });

/** Verifies that a payment event was signed with one of the secrets. */
@Injectable()
export class WebhookSignature {
  constructor(
    private readonly configuration: Configuration,
    private readonly clock: Clock,
  ) {}

  /**
   * The request's signature. Call this before reading the body, so that the service does not wait for the body of an event that
   * cannot be verified. Undefined without a secret in development, where every event is accepted.
   * @throws BadRequest when the signature is missing, malformed or too old, ServiceUnavailable in production without a secret,
   *   where no event could be verified
   */
  expected(headers: IncomingHttpHeaders): string | undefined {
    const { paymentWebhookSecrets, isProduction } = this.configuration;
    if (paymentWebhookSecrets.length === 0) {
      if (isProduction) throw new ServiceUnavailable('payment events are not configured', 3600);
      return undefined;
    }
    const signature = HEADERS.map((name) => headers[name]).find((value) => value !== undefined);
    if (typeof signature !== 'string') throw new BadRequest('the event is not signed');
    if (!BARE.test(signature) && !this.isTimely(signature)) throw notValid();
    return signature;
  }

  /** @throws BadRequest unless `body` was signed, and as `expected` */
  check(headers: IncomingHttpHeaders, body: Buffer): void {
    const signature = this.expected(headers);
    if (signature === undefined) return;
    const text = textOf(body);
    const isSigned = this.configuration.paymentWebhookSecrets.some((secret) =>
      BARE.test(signature) ? isBareHmac(signature, body, secret) : this.isTimed(signature, text, secret),
    );
    if (!isSigned) throw notValid();
  }

  /**
   * For the provider's own format. Its library accepts future times; here, at most five minutes in either direction are allowed.
   */
  private isTimely(signature: string): boolean {
    const time = TIMED.test(signature) ? TIME.exec(signature)?.[1] : undefined;
    const now = Math.floor(this.clock.now().getTime() / 1000);
    return time !== undefined && Math.abs(Number(time) - now) <= TOLERANCE_S;
  }

  private isTimed(signature: string, body: string, secret: string): boolean {
    const receivedAt = this.clock.now().getTime();
    try {
      const { signature: verifier } = stripe().webhooks;
      return verifier?.verifyHeader(body, signature, secret, TOLERANCE_S, undefined, receivedAt) ?? false;
    } catch (error) {
      if (error instanceof stripe().errors.StripeSignatureVerificationError) return false;
      throw error;
    }
  }
}

function notValid(): BadRequest {
  return new BadRequest('the signature is invalid or too old');
}

/** @throws BadRequest */
function textOf(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch {
    throw new BadRequest('the event is not UTF-8');
  }
}

function isBareHmac(signature: string, body: Buffer, secret: string): boolean {
  return timingSafeEqual(Buffer.from(signature, 'hex'), createHmac('sha256', secret).update(body).digest());
}

/** The header with which the provider would sign `payload` at `now`. */
export function signatureFor(payload: string, secret: string, now: Date): string {
  const timestamp = Math.floor(now.getTime() / 1000);
  return stripe().webhooks.generateTestHeaderString({ payload, secret, timestamp });
}

/**
 * Parses the JSON object that the provider has sent. Unlike a client's request it may have any keys, any number of values, any
 * depth and any text: the paying customer writes metadata, and a rejected event leaves the customer without a subscription.
 * `JSON.parse` makes even `__proto__` an own property and does not recurse, so the value itself is harmless. Danger: read it with
 * `valueAt`; never merge it, walk it recursively or serialize it.
 * @throws BadRequest for bytes that are not UTF-8, broken JSON, another type at the top level
 */
function parseProviderJson(body: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(body));
  } catch {
    throw new BadRequest('the event is not valid JSON in UTF-8');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new BadRequest('the event must be a JSON object');
  return value as Record<string, unknown>;
}

const EVENT_LIMIT = 256 * 1024;

/** The provider sends an event's body in one piece. Slow clients hold no slot while they send nothing. */
const BODY_TIMEOUT_MS = 5_000;
const BODIES = {
  atOnce: 32,
  waiting: 96,
  perOwner: { atOnce: 16, waiting: 48 },
  waitMs: BODY_TIMEOUT_MS,
  busy: 'too many payment events are being processed',
};

@Controller('api/v1/webhooks/payment')
@Documented(WEBHOOK_DOCS)
export class WebhookController {
  private readonly bodies: FairSemaphore;

  constructor(
    private readonly signature: WebhookSignature,
    private readonly events: PaymentEvents,
    queues: Queues,
  ) {
    this.bodies = queues.open('payment_events', BODIES);
  }

  /**
   * Not rate limited: the provider delivers in bursts from a few addresses, and retries rejected events for days. A forged event
   * costs one HMAC over at most 256 KiB, and no query. Networks take turns, so the provider waits for at most one body of each
   * other network.
   */
  @Post()
  @HttpCode(200)
  @Public('the signature over the raw body is checked by WebhookSignature')
  @OpenWhenReadOnly('payments must take effect, and refused events arrive late')
  @Unlimited()
  async receive(@Req() request: FastifyRequest): Promise<{ received: true }> {
    this.signature.expected(request.headers);
    const slot = new WorkSlot(() => this.bodies.take(networkKey(request.ip)));
    try {
      const body = await readBody(request.raw, EVENT_LIMIT, { place: slot, withinMs: BODY_TIMEOUT_MS });
      this.signature.check(request.headers, body);
      slot.rest();
      await this.events.receive(parseProviderJson(body));
    } finally {
      slot.rest();
    }
    return { received: true };
  }
}
