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
import { AccountController } from './account.controller.js';
import { AccountDeletion } from './account-deletion.js';
import { AccountDesk } from './account-desk.js';
import { AccountOverview } from './account-overview.js';
import { AccountPageController } from './account-page.controller.js';
import { Accounts } from './accounts.js';
import { OwedCancellations } from './owed-cancellations.js';
import { PasswordDesk } from './password-desk.js';
import { StorageOverview } from './storage-overview.js';
import { TokenDesk } from './token-desk.js';

/** The account page, deletion of an account, and all accounts for the operator. */
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
  controllers: [AccountController, AccountPageController, AccountBelongingsController],
  providers: [
    AccountDeletion,
    AccountDesk,
    AccountOverview,
    Accounts,
    OwedCancellations,
    PasswordDesk,
    StorageOverview,
    TokenDesk,
  ],
  exports: [AccountDeletion, Accounts, OwedCancellations],
})
export class AccountModule {
  constructor(jobs: NightlyJobs, owed: OwedCancellations) {
    jobs.add('cancellations', (_, signal) => owed.settle(signal));
  }
}
