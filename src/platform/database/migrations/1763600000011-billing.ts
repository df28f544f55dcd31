import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What the payment provider has told us: each event once, with what deciding needs and no more of it. `open` events
 * can still be joined by earlier ones; `base` is what the subscription was before the first of them (null: as it is).
 */
export class Billing1763600000011 implements MigrationInterface {
  readonly name = 'Billing1763600000011';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE subscriptions ADD COLUMN provider_subscription_id text, ADD COLUMN base jsonb;

      CREATE TABLE payment_customers (
        user_id uuid PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
        customer_id text NOT NULL CONSTRAINT payment_customers_customer_unique UNIQUE,
        created_at timestamptz NOT NULL
      );

      CREATE TABLE payment_events (
        event_id text PRIMARY KEY,
        user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        subscription_id text NOT NULL,
        kind text NOT NULL CHECK (kind IN ('created', 'updated', 'deleted', 'payment_failed')),
        cause text NOT NULL,
        terms jsonb,
        occurred_at timestamptz NOT NULL,
        received_at timestamptz NOT NULL,
        arrival bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
        fate text NOT NULL CHECK (fate IN ('open', 'applied', 'ignored'))
      );
      CREATE INDEX payment_events_of_user ON payment_events (user_id, subscription_id, occurred_at);
      CREATE INDEX payment_events_received ON payment_events (received_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE payment_events, payment_customers;
      ALTER TABLE subscriptions DROP COLUMN provider_subscription_id, DROP COLUMN base;
    `);
  }
}
