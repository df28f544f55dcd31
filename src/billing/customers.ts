import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Users } from '../auth/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { Unauthorized } from '../platform/http/index.js';
import { Log } from '../platform/log/index.js';
import { PaymentProvider } from './payment-provider.js';

/** The provider repeats its first answer to a key for a day, also when that was a fault: a key must not live as long. */
const KEY_LIVES_MS = 10 * 60_000;

const find = statement(
  'customers.find',
  'SELECT customer_id AS "customerId" FROM payment_customers WHERE user_id = $1',
);

/** Stays out of the way of whoever was faster; $3: the customer to be replaced, if any. */
const keep = statement(
  'customers.keep',
  `INSERT INTO payment_customers AS c (user_id, customer_id, created_at)
   SELECT id, $2, $4 FROM users WHERE id = $1
   ON CONFLICT (user_id) DO UPDATE SET customer_id = excluded.customer_id, created_at = excluded.created_at
   WHERE c.customer_id = $3`,
);

/** The payment provider's id of each user who has opened a checkout. */
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

  /** The user's customer, made when there is none: once, also when two instances are asked at the same time. */
  async findOrCreate(userId: string): Promise<string> {
    return (await this.find(userId)) ?? this.create(userId, null);
  }

  /** Another customer in place of one that the provider does not know any more. */
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
      // The account has gone meanwhile, and did not know of this customer.
      await this.log.bestEffort('remove a customer', () =>
        this.provider.cancelAndDeleteCustomer({ customerId, subscriptionId: null }),
      );
      throw new Unauthorized();
    }
    return kept;
  }
}
