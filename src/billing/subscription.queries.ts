import { statement } from '../platform/database/index.js';

/** $2: the time. A trial that has ended reads as expired before the nightly job has written it. */
const STATUS_NOW = `CASE WHEN status = 'trial' AND trial_end <= $2 THEN 'expired' ELSE status END`;

/** $2: the time, $3: the grace in days after falling past due. In hours: a day is not 24 of them in every time zone. */
const IS_ACTIVE = `
  CASE status
    WHEN 'active' THEN true
    WHEN 'trial' THEN trial_end > $2
    WHEN 'past_due' THEN past_due_since + make_interval(hours => 24 * $3) > $2
    WHEN 'cancelled' THEN coalesce(current_period_end > $2, false)
    ELSE false
  END`;

export const subscriptionStatements = {
  find: statement(
    'subscriptions.find',
    `SELECT plan, ${STATUS_NOW} AS status, trial_start AS "trialStart", trial_end AS "trialEnd",
            current_period_end AS "currentPeriodEnd", cancel_at_period_end AS "cancelAtPeriodEnd"
     FROM subscriptions WHERE user_id = $1`,
  ),

  isActive: statement(
    'subscriptions.is_active',
    `SELECT ${IS_ACTIVE} AS "isActive" FROM subscriptions WHERE user_id = $1`,
  ),

  /** Once per user ever: a row that has had a trial, or any other status, stays as it is. */
  startTrial: statement(
    'subscriptions.start_trial',
    `INSERT INTO subscriptions AS s (user_id, plan, status, trial_start, trial_end, updated_at)
     VALUES ($1, 'pro', 'trial', $2, $3, $2)
     ON CONFLICT (user_id) DO UPDATE
     SET plan = 'pro', status = 'trial', trial_start = $2, trial_end = $3, updated_at = $2
     WHERE s.status = 'free' AND s.trial_start IS NULL`,
  ),

  grant: statement(
    'subscriptions.grant',
    `INSERT INTO subscriptions AS s (user_id, plan, status, current_period_end, past_due_since, trial_start, trial_end, updated_at)
     VALUES ($1, CASE WHEN $2 = 'free' THEN 'free' ELSE 'pro' END, $2, $3,
             CASE WHEN $2 = 'past_due' THEN $4::timestamptz END,
             CASE WHEN $2 = 'trial' THEN $4::timestamptz END,
             CASE WHEN $2 = 'trial' THEN $3::timestamptz END, $4)
     ON CONFLICT (user_id) DO UPDATE
     SET plan = excluded.plan, status = excluded.status, current_period_end = excluded.current_period_end,
         past_due_since = excluded.past_due_since, trial_start = coalesce(excluded.trial_start, s.trial_start),
         trial_end = coalesce(excluded.trial_end, s.trial_end), cancel_at_period_end = false, updated_at = excluded.updated_at`,
  ),
};
