import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuthModule, Invitation } from '../auth/index.js';
import { BillingModule } from '../billing/index.js';
import { MailModule } from '../../platform/mail/index.js';
import { NightlyJobs } from '../../platform/jobs/index.js';
import { WorkspacesModule } from '../workspaces/index.js';
import { AccountController } from './account.controller.js';
import { AccountDeletion } from './account-deletion.js';
import { Accounts } from './accounts.js';
import { CancellationOutbox } from './cancellation-outbox.js';
import { InvitationMails } from './invitation-mails.js';
import { Invitations } from './invitations.js';
import { OwedCancellation } from './owed-cancellation.entity.js';
import { ContentsOfWorkspaces } from './workspace-contents.js';

/** The operator's list of all accounts, invitations, and the deletion of an account. */
@Module({
  imports: [
    AuthModule,
    BillingModule,
    MailModule,
    TypeOrmModule.forFeature([Invitation, OwedCancellation]),
    WorkspacesModule,
  ],
  controllers: [AccountController],
  providers: [
    AccountDeletion,
    Accounts,
    CancellationOutbox,
    ContentsOfWorkspaces,
    InvitationMails,
    Invitations,
  ],
  exports: [AccountDeletion, Accounts, CancellationOutbox, ContentsOfWorkspaces, Invitations],
})
export class AccountsModule {
  constructor(jobs: NightlyJobs, outbox: CancellationOutbox) {
    jobs.add('cancellations', (_, signal) => outbox.settle(signal));
  }
}
