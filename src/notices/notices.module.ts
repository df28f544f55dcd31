import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/index.js';
import { MailModule } from '../mail/index.js';
import { NightlyJobs } from '../platform/jobs/index.js';
import { BillingNotices } from './billing-notices.js';
import { SecurityNotices } from './security-notices.js';

/** Mails that nobody has asked for: what happened to an account, and what is about to. */
@Module({ imports: [AuthModule, MailModule], providers: [BillingNotices, SecurityNotices] })
export class NoticesModule {
  constructor(jobs: NightlyJobs, notices: BillingNotices) {
    jobs.add('billing-notices', (now) => notices.queue(now));
  }
}
