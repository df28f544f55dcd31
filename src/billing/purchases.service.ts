import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/index.js';
import { Conflict, NotFound, ServiceUnavailable } from '../platform/http/index.js';
import { Customers } from './customers.js';
import { PaymentProvider } from './payment-provider.js';
import { Subscriptions } from './subscriptions.service.js';

/** The pages of the payment provider on which users buy, and manage what they have bought. */
@Injectable()
export class Purchases {
  constructor(
    private readonly configuration: Configuration,
    private readonly customers: Customers,
    private readonly provider: PaymentProvider,
    private readonly subscriptions: Subscriptions,
  ) {}

  /** @throws NotFound for who has never bought anything, ServiceUnavailable without a provider */
  async portalUrl(userId: string): Promise<string> {
    this.provider.requireConfigured();
    const customerId = await this.customers.find(userId);
    if (customerId === undefined) throw new NotFound('nothing has been bought yet');
    return this.provider.portalUrl(customerId);
  }

  /** @throws Conflict for who has a subscription already: a second one would be paid for twice */
  async checkoutUrl(userId: string): Promise<string> {
    this.provider.requireConfigured();
    const { stripePriceId: priceId, hasSubscriptions } = this.configuration;
    if (priceId === undefined) throw new ServiceUnavailable('nothing is for sale', 3600);
    if (!hasSubscriptions) throw new Conflict('subscriptions are switched off: every user is active');
    if (await this.subscriptions.isBought(userId))
      throw new Conflict('there is a subscription already; the portal manages it');

    const customerId = await this.customers.findOrCreate(userId);
    try {
      return await this.provider.checkoutUrl({ userId, customerId, priceId });
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
      const another = await this.customers.replace(userId, customerId);
      return this.provider.checkoutUrl({ userId, customerId: another, priceId });
    }
  }
}
