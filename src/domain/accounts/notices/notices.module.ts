import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule } from '../../auth/index.js';
import { MailModule } from '../../../platform/mail/index.js';
import { NightlyJobs } from '../../../platform/jobs/index.js';
import { BillingNotices } from './billing-notices.js';
import { MailNotice } from './mail-notice.entity.js';
import { MutedNotice } from './muted-notice.entity.js';
import { MutedNotices } from './muted-notices.js';
import { SecurityNotices } from './security-notices.js';
import { UnsubscribeLinks } from './unsubscribe-links.js';

/** Mails that nobody has asked for: what happened to an account, and what is about to. */
@Module({
  imports: [AuthModule, MailModule, TypeOrmModule.forFeature([MailNotice, MutedNotice])],
  providers: [BillingNotices, MutedNotices, SecurityNotices, UnsubscribeLinks],
  exports: [MutedNotices, UnsubscribeLinks],
})
export class NoticesModule {
  constructor(jobs: NightlyJobs, notices: BillingNotices) {
    jobs.add('billing-notices', (now) => notices.queue(now));
  }
}
