import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { NightlyJobs } from '../../platform/jobs/index.js';
import { MailModule } from '../../platform/mail/index.js';
import { AuthModule, Invitation } from '../auth/index.js';
import { BillingModule } from '../billing/index.js';
import { WorkspacesModule } from '../workspaces/index.js';
import {
  AccountController,
  AccountDeletion,
  CancellationOutbox,
  OwedCancellation,
} from './account-deletion.js';
import { Accounts, ContentsOfWorkspaces } from './accounts.js';
import { InvitationMails, Invitations } from './invitations.js';

export { AccountDeletion, CancellationOutbox } from './account-deletion.js';
export {
  type AccountDetails,
  Accounts,
  ContentsOfWorkspaces,
  type ListedAccount,
  type ListOptions,
  MOST_COUNTED,
  MOST_WORKSPACES,
  type WorkspaceContents,
} from './accounts.js';
export { Invitations, type NewInvitation } from './invitations.js';

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
