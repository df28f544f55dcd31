import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { NightlyJobs } from '../../platform/jobs/index.js';
import { BlobUpkeep } from '../../platform/storage/index.js';
import { BillingModule, PaymentEvents, Subscriptions } from '../billing/index.js';
import { WorkspaceEntity, WorkspacesModule } from '../workspaces/index.js';
import { RetentionProgress } from './history-walk.js';
import { QueuedFile, QueuePurge, RetentionQueue } from './retention-queue.js';
import { ExpiredRows, Retention, retentionCounts, RetentionMark } from './retention.service.js';

export {
  Retention,
  retentionCounts,
  type RetentionOptions,
  type RetentionReport,
  type ThinnedWorkspace,
} from './retention.service.js';

@Module({
  imports: [
    BillingModule,
    WorkspacesModule,
    TypeOrmModule.forFeature([QueuedFile, RetentionMark, RetentionProgress, WorkspaceEntity]),
  ],
  providers: [ExpiredRows, QueuePurge, Retention, RetentionQueue],
  exports: [Retention],
})
export class RetentionModule {
  constructor(
    jobs: NightlyJobs,
    retention: Retention,
    blobs: BlobUpkeep,
    subscriptions: Subscriptions,
    paymentEvents: PaymentEvents,
  ) {
    jobs.add('retention', async (now, signal) => retentionCounts(await retention.runDue(now, { signal })));
    jobs.add('blobs', async (now, signal) => ({ ...(await blobs.sweep(now, signal)) }));
    jobs.add('subscriptions', async (now) => ({ expired: await subscriptions.expire(now) }));
    jobs.add('payment-events', async (now, signal) => ({
      forgotten: await paymentEvents.forgetOldEvents(now, signal),
    }));
  }
}
