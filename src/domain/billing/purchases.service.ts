import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { createHash } from 'node:crypto';
import { Repository } from 'typeorm';
import { Users } from '../auth/index.js';
import { Configuration } from '../../platform/config/index.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/index.js';
import { Conflict, NotFound, ServiceUnavailable, Unauthorized } from '../../platform/http/index.js';
import { Log } from '../../platform/log.js';
import { customerStatements } from './billing.queries.js';
import { PaymentCustomer } from './billing.entities.js';
import { PaymentProvider } from './payment-provider.js';
import { Subscriptions } from './subscriptions.service.js';

/** The provider repeats its first answer to a key for a day, even if that was a fault, so a key must expire sooner. */
const KEY_LIVES_MS = 10 * 60_000;

/** The payment provider's customer id of each user who has opened a checkout. */
@Injectable()
export class Customers {
  constructor(
    @InjectRepository(PaymentCustomer) private readonly customers: Repository<PaymentCustomer>,
    private readonly database: Database,
    private readonly users: Users,
    private readonly provider: PaymentProvider,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  async find(userId: string): Promise<string | undefined> {
    return (await this.customers.findOneBy({ userId }))?.customerId;
  }

  /** The user's customer, created if absent: only once, even when two instances are called at the same time. */
  async findOrCreate(userId: string): Promise<string> {
    return (await this.find(userId)) ?? this.create(userId, null);
  }

  /** Creates a customer, in place of one that the provider no longer knows if `gone` is its id. */
  async create(userId: string, gone: string | null): Promise<string> {
    const user = await this.users.find(userId);
    if (!user) throw new Unauthorized();
    const now = this.clock.now();
    const key = [userId, user.email, gone, Math.floor(now.getTime() / KEY_LIVES_MS)];
    const idempotencyKey = createHash('sha256').update(JSON.stringify(key)).digest('hex');
    const customerId = await this.provider.createCustomer(userId, user.email, idempotencyKey);
    await this.database.run(customerStatements.keep, [userId, customerId, gone, now]);
    const kept = await this.find(userId);
    if (kept === undefined) {
      // The account was deleted meanwhile, before this customer was stored.
      await this.log.bestEffort('remove a customer', () =>
        this.provider.cancelAndDeleteCustomer({ customerId, subscriptionId: null }),
      );
      throw new Unauthorized();
    }
    return kept;
  }
}

/** The payment provider's pages where users buy and manage subscriptions. */
@Injectable()
export class Purchases {
  constructor(
    private readonly configuration: Configuration,
    private readonly customers: Customers,
    private readonly provider: PaymentProvider,
    private readonly subscriptions: Subscriptions,
  ) {}

  /** @throws NotFound for users who have never bought anything, ServiceUnavailable without a provider */
  async portalUrl(userId: string): Promise<string> {
    this.provider.requireConfigured();
    const customerId = await this.customers.find(userId);
    if (customerId === undefined) throw new NotFound('nothing has been purchased yet');
    return this.provider.portalUrl(customerId);
  }

  /** @throws Conflict for users who already have a subscription: a second one would be charged as well */
  async checkoutUrl(userId: string): Promise<string> {
    this.provider.requireConfigured();
    const { stripePriceId: priceId, hasSubscriptions } = this.configuration;
    if (priceId === undefined) throw new ServiceUnavailable('no price is configured', 3600);
    if (!hasSubscriptions) throw new Conflict('subscriptions are disabled: every user is active');
    if (await this.subscriptions.isBought(userId))
      throw new Conflict('a subscription already exists; manage it in the billing portal');

    const customerId = await this.customers.findOrCreate(userId);
    try {
      return await this.provider.checkoutUrl({ userId, customerId, priceId });
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
      const another = await this.customers.create(userId, customerId);
      return this.provider.checkoutUrl({ userId, customerId: another, priceId });
    }
  }
}
