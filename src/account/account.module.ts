import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessTokensModule } from '../access-tokens/index.js';
import { AssetsModule } from '../assets/index.js';
import { AuthModule, Invitation } from '../auth/index.js';
import { BillingModule } from '../billing/index.js';
import { DevicesModule } from '../devices/index.js';
import { ExportModule } from '../export/index.js';
import { FilesModule } from '../files/index.js';
import { MailModule } from '../mail/index.js';
import { NoticesModule } from '../notices/index.js';
import { PagesModule } from '../pages/index.js';
import { NightlyJobs } from '../platform/jobs/index.js';
import { WorkspacesModule } from '../workspaces/index.js';
import { Activity, ActivityController } from './activity.controller.js';
import { AccountBelongingsController } from './account-belongings.controller.js';
import { AccountChangesController } from './account-changes.controller.js';
import { AccountEmailController } from './account-email.controller.js';
import { AccountController } from './account.controller.js';
import { AccountDeletion } from './account-deletion.js';
import { AccountFactorsController } from './account-factors.controller.js';
import { AccountForms } from './account-forms.js';
import { AccountOverview, FactorOverview, SignInOverview, StorageOverview } from './account-overview.js';
import { AccountPageController } from './account-page.controller.js';
import { AccountNoticesController } from './account-notices.controller.js';
import { AccountPasskeysController } from './account-passkeys.controller.js';
import { AccountProviderController } from './account-provider.controller.js';
import { Accounts } from './accounts.js';
import { CancellationOutbox } from './cancellation-outbox.js';
import { EmailForm } from './email-form.js';
import { InvitationForm } from './invitation-form.js';
import { InvitationMails } from './invitation-mails.js';
import { InvitationController } from './invitation.controller.js';
import { Invitations } from './invitations.js';
import { NoticesForm } from './notices-form.js';
import { OwedCancellation } from './owed-cancellation.entity.js';
import { PasswordForm } from './password-form.js';
import { ProfileForms } from './profile-forms.js';
import { TokenForms } from './token-forms.js';
import { WorkspaceForms } from './workspace-forms.js';

/** The account page, account deletion, and the operator's list of all accounts. */
@Module({
  imports: [
    AccessTokensModule,
    AssetsModule,
    AuthModule,
    BillingModule,
    DevicesModule,
    ExportModule,
    FilesModule,
    MailModule,
    NoticesModule,
    PagesModule,
    TypeOrmModule.forFeature([Invitation, OwedCancellation]),
    WorkspacesModule,
  ],
  controllers: [
    AccountController,
    AccountPageController,
    AccountBelongingsController,
    AccountChangesController,
    AccountEmailController,
    AccountFactorsController,
    AccountNoticesController,
    AccountPasskeysController,
    AccountProviderController,
    ActivityController,
    InvitationController,
  ],
  providers: [
    AccountDeletion,
    AccountForms,
    AccountOverview,
    Accounts,
    Activity,
    CancellationOutbox,
    EmailForm,
    InvitationForm,
    InvitationMails,
    Invitations,
    NoticesForm,
    PasswordForm,
    ProfileForms,
    FactorOverview,
    SignInOverview,
    StorageOverview,
    TokenForms,
    WorkspaceForms,
  ],
  exports: [AccountDeletion, Accounts, CancellationOutbox, Invitations],
})
export class AccountModule {
  constructor(jobs: NightlyJobs, outbox: CancellationOutbox) {
    jobs.add('cancellations', (_, signal) => outbox.settle(signal));
  }
}
