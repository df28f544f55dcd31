import { Module } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { NightlyJobs } from '../platform/jobs/index.js';
import { WorkspacesModule } from '../workspaces/index.js';
import { AccountController } from './account.controller.js';
import { AccountDeletion } from './account-deletion.js';
import { GoneUserInterceptor } from './gone-user.interceptor.js';
import { OwedCancellations } from './owed-cancellations.js';
import { ProviderFarewell } from './provider-farewell.js';

@Module({
  imports: [WorkspacesModule],
  controllers: [AccountController],
  providers: [
    AccountDeletion,
    OwedCancellations,
    ProviderFarewell,
    { provide: APP_INTERCEPTOR, useClass: GoneUserInterceptor },
  ],
})
export class AccountModule {
  constructor(jobs: NightlyJobs, owed: OwedCancellations) {
    jobs.add('cancellations', (_, signal) => owed.settle(signal));
  }
}
