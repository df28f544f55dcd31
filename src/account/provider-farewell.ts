import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/index.js';

const TIMEOUT_MS = 10_000;

/** What the payment provider knows somebody by. */
export interface ProviderNames {
  readonly customerId: string | null;
  readonly subscriptionId: string | null;
}

interface ProviderAnswer {
  readonly error?: { readonly code?: string };
}

/** The payment provider did not do what it was asked; it can be asked again. */
export class ProviderRefusal extends Error {
  constructor(
    message: string,
    /** Whether it would refuse to take leave of anybody now. */
    readonly isOutage: boolean,
  ) {
    super(message);
  }
}

/** Of answers that say nothing about who was asked for: a wrong key, too many requests. */
const OUTAGES = new Set([401, 403, 429]);

/** Takes leave of a customer at the payment provider. */
@Injectable()
export class ProviderFarewell {
  constructor(private readonly configuration: Configuration) {}

  get isConfigured(): boolean {
    return this.configuration.stripeSecretKey !== undefined;
  }

  /**
   * Cancels the subscription at once, then removes the customer: with it go other subscriptions, the payment details
   * and purchases that have been begun. What is gone already is no error. @throws ProviderRefusal
   */
  async take({ customerId, subscriptionId }: ProviderNames): Promise<void> {
    if (subscriptionId !== null) await this.delete('subscriptions', subscriptionId);
    if (customerId !== null) await this.delete('customers', customerId);
  }

  private async delete(kind: 'subscriptions' | 'customers', id: string): Promise<void> {
    const { stripeApiBase, stripeSecretKey } = this.configuration;
    if (stripeSecretKey === undefined) throw new ProviderRefusal('no payment provider is configured', true);
    const answer = await fetch(new URL(`/v1/${kind}/${encodeURIComponent(id)}`, stripeApiBase), {
      method: 'DELETE',
      headers: { authorization: `Bearer ${stripeSecretKey}` },
      redirect: 'error', // it would carry the key to somebody else
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch(() => undefined);
    const body = (await answer?.json().catch(() => undefined)) as ProviderAnswer | undefined;
    if (answer?.ok || body?.error?.code === 'resource_missing') return;
    const status = answer?.status;
    const isOutage = status === undefined || status >= 500 || OUTAGES.has(status);
    throw new ProviderRefusal(`the payment provider answers ${status ?? 'nothing'}`, isOutage);
  }
}
