import { Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Public, Unlimited } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { BadRequest, networkKey, readBody, WorkSlot } from '../../platform/http/index.js';
import { OpenWhenReadOnly } from '../../platform/kill-switch/index.js';
import { type FairSemaphore, Queues } from '../../platform/limits/index.js';
import { WEBHOOK_DOCS } from './billing.docs.js';
import { PaymentEvents } from './payment-events.service.js';
import { WebhookSignature } from './webhook-signature.js';

const utf8 = new TextDecoder('utf8', { fatal: true, ignoreBOM: true });

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

/** The provider sends an event's body in one piece. Slow strangers hold no slot while they are silent. */
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
   * Not rate limited: the provider delivers in bursts from a few addresses, and retries rejected events for days. A stranger
   * costs one HMAC over at most 256 KiB, and no query. Addresses take turns, so the provider waits for at most one body of each
   * other address.
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
