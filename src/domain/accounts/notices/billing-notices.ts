import { Injectable } from '@nestjs/common';
import { Configuration } from '../../../platform/config/index.js';
import { Mail, type Prepared, type QueuedMail } from '../../../platform/mail/index.js';
import { Database } from '../../../platform/database/index.js';
import { ALL_MUTABLE, type MutableNotice, MutedNotices } from './muted-notices.js';
import { noticeStatements } from './notices.queries.js';
import { UnsubscribeLinks } from './unsubscribe-links.js';

const DAYS_BEFORE = 3;

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
    const queued = await this.database.run(noticeStatements.queueDue, [now, until, `${publicUrl}/account`]);
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
