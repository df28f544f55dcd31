import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { BillingModule, PaymentEvents, Subscriptions } from '../billing/index.js';
import { BlobUpkeep } from '../../platform/storage/index.js';
import { NightlyJobs } from '../../platform/jobs/index.js';
import { WorkspaceEntity, WorkspacesModule } from '../workspaces/index.js';
import { ExpiredRows } from './expired-rows.js';
import { QueuedFile } from './queued-file.entity.js';
import { QueuePurge } from './queue-purge.js';
import { RetentionMark } from './retention-mark.entity.js';
import { RetentionProgress } from './retention-progress.entity.js';
import { RetentionQueue } from './retention-queue.js';
import { retentionCounts } from './retention-report.js';
import { Retention } from './retention.service.js';

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
