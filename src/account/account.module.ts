import { Module } from '@nestjs/common';
import { NightlyJobs } from '../platform/jobs/index.js';
import { WorkspacesModule } from '../workspaces/index.js';
import { AccountController } from './account.controller.js';
import { AccountDeletion } from './account-deletion.js';
import { OwedCancellations } from './owed-cancellations.js';
import { ProviderFarewell } from './provider-farewell.js';

@Module({
  imports: [WorkspacesModule],
  controllers: [AccountController],
  providers: [AccountDeletion, OwedCancellations, ProviderFarewell],
})
export class AccountModule {
  constructor(jobs: NightlyJobs, owed: OwedCancellations) {
    jobs.add('cancellations', (_, signal) => owed.settle(signal));
  }
}
