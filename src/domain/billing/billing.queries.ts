import { hasRunOut, isActive, statusAt } from '../../access/index.js';
import { statement } from '../../platform/database/index.js';

/** $1: the time. */
const HAS_RUN_OUT = hasRunOut('$1');

export const subscriptionStatements = {
  /** The subscription of the user $1 at the time $2; $3: the grace period in days. */
  describe: statement(
    'subscriptions.describe',
    `SELECT plan, ${statusAt('$2')} AS status, trial_start AS "trialStart", trial_end AS "trialEnd",
            current_period_end AS "currentPeriodEnd", cancel_at_period_end AS "cancelAtPeriodEnd",
            coalesce(${isActive('$2', '$3')}, false) AS "isActive", past_due_since AS "pastDueSince",
            provider_subscription_id AS "subscriptionId"
     FROM subscriptions WHERE user_id = $1`,
  ),

  /** Stores the status `expired` where it is already reported. */
  expire: statement(
    'subscriptions.expire',
    `UPDATE subscriptions SET status = 'expired', updated_at = $1 WHERE ${HAS_RUN_OUT} RETURNING user_id`,
  ),

  /** How many rows `expire` would update. */
  countExpirable: statement(
    'subscriptions.count_expirable',
    `SELECT count(*) AS subscriptions FROM subscriptions WHERE ${HAS_RUN_OUT}`,
  ),
};

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
   * A known event stays unchanged. An event is ignored if it is older than an event that was applied and closed, or if its
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

export const customerStatements = {
  /** Does nothing if a concurrent request has stored a customer; $3: the customer to replace, if any. */
  keep: statement(
    'customers.keep',
    `INSERT INTO payment_customers AS c (user_id, customer_id, created_at)
     SELECT id, $2, $4 FROM users WHERE id = $1
     ON CONFLICT (user_id) DO UPDATE SET customer_id = excluded.customer_id, created_at = excluded.created_at
     WHERE c.customer_id = $3`,
  ),
};
