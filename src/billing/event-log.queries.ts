import { statement } from '../platform/database/index.js';

const STATE = `plan, status, trial_start AS "trialStart", trial_end AS "trialEnd", current_period_end AS "currentPeriodEnd",
               cancel_at_period_end AS "cancelAtPeriodEnd", past_due_since AS "pastDueSince",
               provider_subscription_id AS "subscriptionId"`;

export const eventLogStatements = {
  /**
   * Finds the user by the stored customer, else by id. Locks the user's row, because there may be no subscription row to lock
   * yet.
   */
  lockBilling: statement(
    'event_log.lock_user',
    `SELECT id FROM users
     WHERE id = coalesce((SELECT user_id FROM payment_customers WHERE customer_id = $1), $2::uuid)
     FOR NO KEY UPDATE`,
  ),

  /**
   * A known id stays unchanged. An event is ignored if it is older than an event that was applied and closed, or if its
   * subscription was deleted by a closed event, unless it is another deletion.
   */
  record: statement(
    'event_log.record',
    `INSERT INTO payment_events (event_id, user_id, subscription_id, kind, cause, terms, occurred_at, received_at, fate)
     SELECT $1, $2, $3, $4, $5, $6::jsonb, $7, $8, CASE WHEN EXISTS (
       SELECT 1 FROM payment_events e
       WHERE e.user_id = $2 AND e.subscription_id = $3
         AND (e.fate = 'applied' AND e.occurred_at > $7 OR e.fate <> 'open' AND e.kind = 'deleted' AND $4 <> 'deleted')
     ) THEN 'ignored' ELSE 'open' END
     ON CONFLICT (event_id) DO NOTHING
     RETURNING fate`,
  ),

  /**
   * Also returns the closed events that affect how later ones are read: `incomplete` (nothing was paid yet; it changes nothing
   * itself, wherever it is in the order) and deletions.
   */
  open: statement(
    'event_log.open',
    `SELECT event_id AS id, kind, cause, occurred_at AS "occurredAt", received_at AS "receivedAt",
            subscription_id AS "subscriptionId", terms, kind = 'deleted' AND fate <> 'open' AS "isPastDeletion"
     FROM payment_events WHERE user_id = $1 AND (fate = 'open' OR cause = 'incomplete' OR kind = 'deleted')
     ORDER BY arrival`,
  ),

  state: statement('event_log.state', `SELECT ${STATE}, base FROM subscriptions WHERE user_id = $1`),

  save: statement(
    'event_log.save',
    `INSERT INTO subscriptions (user_id, plan, status, trial_start, trial_end, current_period_end, cancel_at_period_end,
                                past_due_since, provider_subscription_id, base, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::jsonb, $11)
     ON CONFLICT (user_id) DO UPDATE
     SET plan = excluded.plan, status = excluded.status, trial_start = excluded.trial_start,
         trial_end = excluded.trial_end, current_period_end = excluded.current_period_end,
         cancel_at_period_end = excluded.cancel_at_period_end, past_due_since = excluded.past_due_since,
         provider_subscription_id = excluded.provider_subscription_id, base = excluded.base,
         updated_at = excluded.updated_at`,
  ),

  /** $2: the events, $3: those of them that were applied. */
  close: statement(
    'event_log.close',
    `UPDATE payment_events SET fate = CASE WHEN event_id = ANY ($3::text[]) THEN 'applied' ELSE 'ignored' END
     WHERE user_id = $1 AND event_id = ANY ($2::text[])`,
  ),

  setBase: statement('event_log.set_base', 'UPDATE subscriptions SET base = $2::jsonb WHERE user_id = $1'),

  /** A customer belongs to one user, and a user has one customer. */
  adoptCustomer: statement(
    'event_log.adopt_customer',
    `INSERT INTO payment_customers (user_id, customer_id, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
  ),

  /** Users with ids above $2 that have open events received before $1. */
  usersWithOld: statement(
    'event_log.users_with_old',
    `SELECT DISTINCT user_id AS id FROM payment_events
     WHERE received_at < $1 AND fate = 'open' AND user_id > $2 ORDER BY user_id LIMIT $3`,
  ),

  /** Keeps the last applied events of each subscription, and deletions, forever: late events are compared with them. */
  forget: statement(
    'event_log.forget',
    `DELETE FROM payment_events WHERE event_id IN (
       SELECT e.event_id FROM payment_events e
       WHERE e.received_at < $1 AND e.kind <> 'deleted' AND (e.fate = 'ignored' OR e.fate = 'applied' AND EXISTS (
         SELECT 1 FROM payment_events n
         WHERE n.user_id = e.user_id AND n.subscription_id = e.subscription_id AND n.fate = 'applied'
           AND n.occurred_at > e.occurred_at
       ))
       LIMIT $2
     ) RETURNING event_id`,
  ),
};
