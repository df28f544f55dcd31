import { statement } from '../../../platform/database/index.js';

export const noticeStatements = {
  /**
   * Queues a mail for each trial that ends between $1 and $2, and for each payment that has failed, once: the time that it is about is
   * noted in the same statement. $3: where the mail leads.
   */
  queueDue: statement(
    'billing_notices.queue_due',
    `WITH due AS (
       SELECT user_id, 'trial-ends' AS notice, trial_end AS about FROM subscriptions
       WHERE status = 'trial' AND trial_end > $1 AND trial_end <= $2
       UNION ALL
       SELECT user_id, 'payment-failed', past_due_since FROM subscriptions
       WHERE status = 'past_due' AND past_due_since IS NOT NULL
     ), noted AS (
       INSERT INTO mail_notices (user_id, notice, about)
       SELECT due.* FROM due JOIN users u ON u.id = due.user_id AND u.suspended_at IS NULL
       ON CONFLICT DO NOTHING RETURNING user_id, notice, about
     )
     INSERT INTO mail_queue (user_id, recipient, template, parameters, queued_at, due_at)
     SELECT u.id, u.email, notice,
            jsonb_build_object('link', $3::text, 'at', to_char(about AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')), $1::timestamptz,
            $1::timestamptz
     FROM noted JOIN users u ON u.id = noted.user_id
     RETURNING template`,
  ),

  /**
   * Turns off the kinds in $3 and turns on the others of $2; kinds that only a newer version knows stay as they are. Locks the
   * account against deletion; without it, it changes nothing.
   */
  choose: statement(
    'muted_notices.choose',
    `WITH owner AS (SELECT id FROM users WHERE id = $1 FOR KEY SHARE), turned_on AS (
       DELETE FROM muted_notices WHERE user_id = $1 AND notice = ANY ($2::text[]) AND notice <> ALL ($3::text[])
     )
     INSERT INTO muted_notices (user_id, notice, muted_at) SELECT id, notice, $4::timestamptz FROM owner, unnest($3::text[]) AS notice
     ON CONFLICT DO NOTHING`,
  ),
};
