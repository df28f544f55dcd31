import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/index.js';
import { Mail, type Prepared, type QueuedMail } from '../mail/index.js';
import { Database, statement } from '../platform/database/index.js';
import { ALL_MUTABLE, type MutableNotice, MutedNotices } from './muted-notices.js';
import { UnsubscribeLinks } from './unsubscribe-links.js';

const DAYS_BEFORE = 3;

/**
 * Queues a mail for each trial that ends between $1 and $2, and for each payment that has failed, once: the time that it is about is
 * noted in the same statement. $3: where the mail leads.
 */
const queueDue = statement(
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
);

/**
 * Mails about a trial that ends in three days, and about a payment that failed; each once. Whether the user wants them is looked up
 * when they are sent: one that is already queued is not sent either.
 */
@Injectable()
export class BillingNotices {
  constructor(
    private readonly database: Database,
    private readonly mail: Mail,
    private readonly configuration: Configuration,
    private readonly muted: MutedNotices,
    private readonly links: UnsubscribeLinks,
  ) {
    for (const notice of ALL_MUTABLE) mail.prepare(notice, (queued) => this.prepare(notice, queued));
  }

  /** Queues the mails that are due. Concurrent calls queue each once. */
  async queue(now: Date): Promise<{ queued: number }> {
    const { hasSubscriptions, publicUrl } = this.configuration;
    if (!this.mail.isOn || !hasSubscriptions) return { queued: 0 };
    const until = new Date(now.getTime() + DAYS_BEFORE * 24 * 60 * 60_000);
    const queued = await this.database.run(queueDue, [now, until, `${publicUrl}/account`]);
    return { queued: queued.length };
  }

  private async prepare(
    notice: MutableNotice,
    { userId, to, parameters }: QueuedMail,
  ): Promise<Prepared | undefined> {
    if (userId === null || (await this.muted.isMuted(userId, notice))) return undefined;
    return { to, template: notice, parameters, unsubscribe: this.links.linkFor({ userId, notice }) };
  }
}
