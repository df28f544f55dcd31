import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { NightlyJobs } from '../../../platform/jobs/index.js';
import { MailModule } from '../../../platform/mail/index.js';
import { AuthModule } from '../../auth/index.js';
import { MutedNotice, MutedNotices, UnsubscribeLinks } from './muted-notices.js';
import { BillingNotices, MailNotice, SecurityNotices } from './notices.js';

export { MailNotice } from './notices.js';
export {
  ALL_MUTABLE,
  MUTABLE_NOTICES,
  type MutableNotice,
  MutedNotices,
  UNSUBSCRIBE,
  UnsubscribeLinks,
  type Unsubscription,
} from './muted-notices.js';

/** Mails that the user has not requested: security notices and billing notices. */
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
