import { Module } from '@nestjs/common';
import { AccessTokensModule } from '../access-tokens/index.js';
import { AssetsModule } from '../assets/index.js';
import { AuthModule } from '../auth/index.js';
import { BillingModule } from '../billing/index.js';
import { DevicesModule } from '../devices/index.js';
import { FilesModule } from '../files/index.js';
import { PagesModule } from '../pages/index.js';
import { NightlyJobs } from '../platform/jobs/index.js';
import { WorkspacesModule } from '../workspaces/index.js';
import { AccountBelongingsController } from './account-belongings.controller.js';
import { AccountEmailController } from './account-email.controller.js';
import { AccountController } from './account.controller.js';
import { AccountDeletion } from './account-deletion.js';
import { AccountForms } from './account-forms.js';
import { AccountOverview, StorageOverview } from './account-overview.js';
import { AccountPageController } from './account-page.controller.js';
import { Accounts } from './accounts.js';
import { CancellationOutbox } from './cancellation-outbox.js';
import { EmailForm } from './email-form.js';
import { PasswordForm } from './password-form.js';
import { TokenForms } from './token-forms.js';

/** The account page, account deletion, and the operator's list of all accounts. */
@Module({
  imports: [
    AccessTokensModule,
    AssetsModule,
    AuthModule,
    BillingModule,
    DevicesModule,
    FilesModule,
    PagesModule,
    WorkspacesModule,
  ],
  controllers: [
    AccountController,
    AccountEmailController,
    AccountPageController,
    AccountBelongingsController,
  ],
  providers: [
    AccountDeletion,
    AccountForms,
    AccountOverview,
    Accounts,
    CancellationOutbox,
    EmailForm,
    PasswordForm,
    StorageOverview,
    TokenForms,
  ],
  exports: [AccountDeletion, Accounts, CancellationOutbox],
})
export class AccountModule {
  constructor(jobs: NightlyJobs, outbox: CancellationOutbox) {
    jobs.add('cancellations', (_, signal) => outbox.settle(signal));
  }
}
