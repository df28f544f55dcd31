import { Baseline } from './baseline.js';

/**
 * `subscriptions`: one row for each user who has ever had more than the free plan; no row means `free`.
 *
 * `payment_events`: events that the payment provider has reported, each once, with only the data that decisions need. Events
 * before an `open` one may still arrive; `subscriptions.base` is the state of the subscription before the first open one (null:
 * its current state).
 *
 * `owed_cancellations`: subscriptions of deleted accounts that must still be cancelled at the provider.
 */
export class Billing1764400000002 extends Baseline {
  readonly name = 'Billing1764400000002';
  readonly sql = `
    CREATE TABLE subscriptions (
      user_id uuid PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
      plan text NOT NULL,
      status text NOT NULL CHECK (status IN ('free', 'trial', 'active', 'past_due', 'cancelled', 'expired')),
      trial_start timestamptz,
      trial_end timestamptz CHECK (trial_end > trial_start),
      current_period_end timestamptz,
      cancel_at_period_end boolean NOT NULL DEFAULT false,
      past_due_since timestamptz,
      updated_at timestamptz NOT NULL,
      provider_subscription_id text,
      base jsonb,
      CHECK (status <> 'trial' OR trial_end IS NOT NULL),
      CHECK (status <> 'past_due' OR past_due_since IS NOT NULL)
    );

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

    CREATE TABLE owed_cancellations (
      id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
      customer_id text,
      subscription_id text,
      since timestamptz NOT NULL,
      CHECK (customer_id IS NOT NULL OR subscription_id IS NOT NULL)
    );
  `;
}
