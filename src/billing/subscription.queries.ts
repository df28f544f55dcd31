import { statement } from '../platform/database/index.js';

/** $2: the time. A trial that has ended reads as expired before the nightly job has written it. */
const STATUS_NOW = `CASE WHEN status = 'trial' AND trial_end <= $2 THEN 'expired' ELSE status END`;

/** $2: the time, $3: the grace in days after falling past due. In hours: a day is not 24 of them in every time zone. */
const IS_ACTIVE = `
  CASE ${STATUS_NOW}
    WHEN 'trial' THEN true
    WHEN 'active' THEN true
    WHEN 'past_due' THEN past_due_since + make_interval(hours => 24 * $3) > $2
    WHEN 'cancelled' THEN coalesce(current_period_end > $2, false)
    ELSE false
  END`;

const INFO = `plan, ${STATUS_NOW} AS status, trial_start AS "trialStart", trial_end AS "trialEnd",
            current_period_end AS "currentPeriodEnd", cancel_at_period_end AS "cancelAtPeriodEnd"`;

export const subscriptionStatements = {
  find: statement('subscriptions.find', `SELECT ${INFO} FROM subscriptions WHERE user_id = $1`),

  isActive: statement(
    'subscriptions.is_active',
    `SELECT ${IS_ACTIVE} AS "isActive" FROM subscriptions WHERE user_id = $1`,
  ),

  /** Whether the provider has a subscription for which it goes on asking money. */
  isBought: statement(
    'subscriptions.is_bought',
    `SELECT provider_subscription_id IS NOT NULL AND ${STATUS_NOW} IN ('trial', 'active', 'past_due') AS "isBought"
     FROM subscriptions WHERE user_id = $1`,
  ),

  describe: statement(
    'subscriptions.describe',
    `SELECT ${INFO}, ${IS_ACTIVE} AS "isActive", past_due_since AS "pastDueSince",
            provider_subscription_id AS "subscriptionId"
     FROM subscriptions WHERE user_id = $1`,
  ),

  /** Writes what reads so already. */
  expire: statement(
    'subscriptions.expire',
    `UPDATE subscriptions SET status = 'expired', updated_at = $1 WHERE status = 'trial' AND trial_end <= $1
     RETURNING user_id`,
  ),
};
