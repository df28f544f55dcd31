import { Module } from '@nestjs/common';
import { BillingModule } from '../billing/index.js';
import { NightlyJobs } from '../platform/jobs/index.js';
import { WorkspacesModule } from '../workspaces/index.js';
import { AccountController } from './account.controller.js';
import { AccountDeletion } from './account-deletion.js';
import { Accounts } from './accounts.js';
import { OwedCancellations } from './owed-cancellations.js';

@Module({
  imports: [BillingModule, WorkspacesModule],
  controllers: [AccountController],
  providers: [AccountDeletion, Accounts, OwedCancellations],
  exports: [AccountDeletion, Accounts, OwedCancellations],
})
export class AccountModule {
  constructor(jobs: NightlyJobs, owed: OwedCancellations) {
    jobs.add('cancellations', (_, signal) => owed.settle(signal));
  }
}
