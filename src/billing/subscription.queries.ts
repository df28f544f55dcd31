import { statement } from '../platform/database/index.js';

/** Expiries for which there is no event: that of a trial, and that of a manual grant. */
const hasRunOut = (time: string): string =>
  `(status = 'trial' AND trial_end <= ${time}
    OR status = 'active' AND provider_subscription_id IS NULL AND current_period_end <= ${time})`;

/** An expired subscription reads as expired before the nightly job has stored it. */
const statusAt = (time: string): string => `CASE WHEN ${hasRunOut(time)} THEN 'expired' ELSE status END`;

/**
 * Whether a row of `subscriptions` is active. Parameters: the time, and the grace period in days after falling past due. The
 * interval is in hours: a day does not have 24 of them in every time zone.
 */
export const isActive = (time: string, graceDays: string): string => `
  CASE ${statusAt(time)}
    WHEN 'trial' THEN true
    WHEN 'active' THEN true
    WHEN 'past_due' THEN past_due_since + make_interval(hours => 24 * ${graceDays}) > ${time}
    WHEN 'cancelled' THEN coalesce(current_period_end > ${time}, false)
    ELSE false
  END`;

/** $2: the time. */
const STATUS_NOW = statusAt('$2');
/** $3: the grace period in days. */
const IS_ACTIVE = isActive('$2', '$3');

const INFO = `plan, ${STATUS_NOW} AS status, trial_start AS "trialStart", trial_end AS "trialEnd",
            current_period_end AS "currentPeriodEnd", cancel_at_period_end AS "cancelAtPeriodEnd"`;

/** $1: the time. */
const HAS_RUN_OUT = hasRunOut('$1');

export const subscriptionStatements = {
  find: statement('subscriptions.find', `SELECT ${INFO} FROM subscriptions WHERE user_id = $1`),

  isActive: statement(
    'subscriptions.is_active',
    `SELECT ${IS_ACTIVE} AS "isActive" FROM subscriptions WHERE user_id = $1`,
  ),

  /** Whether the provider has a subscription that it continues to charge. */
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

  /** Stores the status that is already read. */
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
