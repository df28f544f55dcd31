import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Users } from '../auth/index.js';
import { Configuration } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { Conflict, NotFound, ServiceUnavailable, Unauthorized } from '../platform/http/index.js';
import { Log } from '../platform/log/index.js';
import { PaymentProvider } from './payment-provider.js';
import { Subscriptions } from './subscriptions.service.js';

/** The provider repeats its first answer to a key for a day, even if that was a fault, so a key must expire sooner. */
const KEY_LIVES_MS = 10 * 60_000;

const find = statement(
  'customers.find',
  'SELECT customer_id AS "customerId" FROM payment_customers WHERE user_id = $1',
);

/** Does nothing if a concurrent request has stored a customer; $3: the customer to replace, if any. */
const keep = statement(
  'customers.keep',
  `INSERT INTO payment_customers AS c (user_id, customer_id, created_at)
   SELECT id, $2, $4 FROM users WHERE id = $1
   ON CONFLICT (user_id) DO UPDATE SET customer_id = excluded.customer_id, created_at = excluded.created_at
   WHERE c.customer_id = $3`,
);

/** The payment provider's customer id of each user who has opened a checkout. */
@Injectable()
export class Customers {
  constructor(
    private readonly database: Database,
    private readonly users: Users,
    private readonly provider: PaymentProvider,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  async find(userId: string): Promise<string | undefined> {
    const [row] = await this.database.run<{ customerId: string }>(find, [userId]);
    return row?.customerId;
  }

  /** The user's customer, created if absent: only once, even when two instances are called at the same time. */
  async findOrCreate(userId: string): Promise<string> {
    return (await this.find(userId)) ?? this.create(userId, null);
  }

  /** Creates a new customer in place of one that the provider no longer knows. */
  replace(userId: string, gone: string): Promise<string> {
    return this.create(userId, gone);
  }

  private async create(userId: string, gone: string | null): Promise<string> {
    const user = await this.users.find(userId);
    if (!user) throw new Unauthorized();
    const now = this.clock.now();
    const key = [userId, user.email, gone, Math.floor(now.getTime() / KEY_LIVES_MS)];
    const idempotencyKey = createHash('sha256').update(JSON.stringify(key)).digest('hex');
    const customerId = await this.provider.createCustomer(userId, user.email, idempotencyKey);
    await this.database.run(keep, [userId, customerId, gone, now]);
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

/** The payment provider's pages where users buy, and manage what they have bought. */
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
      const another = await this.customers.replace(userId, customerId);
      return this.provider.checkoutUrl({ userId, customerId: another, priceId });
    }
  }
}
