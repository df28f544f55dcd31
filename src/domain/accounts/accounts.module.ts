import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessTokensModule } from '../auth/access-tokens/index.js';
import { AssetsModule } from '../assets/index.js';
import { AuthModule, Invitation } from '../auth/index.js';
import { BillingModule } from '../billing/index.js';
import { DevicesModule } from '../devices/index.js';
import { ExportModule } from './export/index.js';
import { FilesModule } from '../files/index.js';
import { MailModule } from '../../platform/mail/index.js';
import { NoticesModule } from './notices/index.js';
import { PagesModule } from '../../web/layout/index.js';
import { NightlyJobs } from '../../platform/jobs/index.js';
import { WorkspacesModule } from '../workspaces/index.js';
import { Activity, ActivityController } from '../../web/account/activity.controller.js';
import { AccountBelongingsController } from '../../web/account/account-belongings.controller.js';
import { AccountChangesController } from '../../web/account/account-changes.controller.js';
import { AccountEmailController } from '../../web/account/account-email.controller.js';
import { AccountController } from './account.controller.js';
import { AccountDeletion } from './account-deletion.js';
import { AccountFactorsController } from '../../web/account/account-factors.controller.js';
import { AccountForms } from '../../web/account/account-forms.js';
import { AccountOverview, FactorOverview, SignInOverview, StorageOverview } from '../../web/account/account-overview.js';
import { AccountPageController } from '../../web/account/account-page.controller.js';
import { AccountNoticesController } from '../../web/account/account-notices.controller.js';
import { AccountPasskeysController } from '../../web/account/account-passkeys.controller.js';
import { AccountProviderController } from '../../web/account/account-provider.controller.js';
import { Accounts } from './accounts.js';
import { CancellationOutbox } from './cancellation-outbox.js';
import { EmailForm } from '../../web/account/email-form.js';
import { InvitationForm } from '../../web/account/invitation-form.js';
import { InvitationMails } from './invitation-mails.js';
import { InvitationController } from '../../web/account/invitation.controller.js';
import { Invitations } from './invitations.js';
import { NoticesForm } from '../../web/account/notices-form.js';
import { OwedCancellation } from './owed-cancellation.entity.js';
import { PasswordForm } from '../../web/account/password-form.js';
import { ProfileForms } from '../../web/account/profile-forms.js';
import { TokenForms } from '../../web/account/token-forms.js';
import { WorkspaceForms } from '../../web/account/workspace-forms.js';

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
