import { Injectable } from '@nestjs/common';
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Configuration } from '../../platform/config/index.js';
import { Clock } from '../../platform/clock/index.js';
import { BadRequest, ServiceUnavailable } from '../../platform/http/index.js';
import { stripe } from './stripe-client.js';

const TOLERANCE_S = 300;
const HEADERS = ['payment-signature', 'stripe-signature'] as const;

/** `t=…,v1=…[,v1=…]`: rejects anything that the provider's library could fail on. */
const TIMED = /^\w+=\w+(?:,\w+=\w+)*$/;
const TIME = /(?:^|,)t=(\d{1,12})(?:,|$)/;
const BARE = /^[0-9a-f]{64}$/i;

/** For invalid UTF-8 the library would verify a repaired copy, not the bytes that were sent. */
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

  /** @throws BadRequest unless `body` was signed, and as above */
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
