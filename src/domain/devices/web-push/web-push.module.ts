import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { UserEntity } from '../../auth/index.js';
import { DevicesModule } from '../index.js';
import { Database } from '../../../platform/database/index.js';
import { WorkspacePurge, WorkspacesModule } from '../../workspaces/index.js';
import { HttpsPushSender } from './https-push-sender.js';
import { PushDispatcher } from './push-dispatcher.js';
import { PushQueue } from './push-queue.js';
import { PushSender } from './push-sender.js';
import { PushSubscriptionsController } from './push-subscriptions.controller.js';
import { StoredSubscription } from './push-subscription.entity.js';
import { PushSubscriptions } from './push-subscriptions.service.js';
import { pushSubscriptionStatements } from './web-push.queries.js';
import { WebPush } from './web-push.service.js';

const PURGE_BATCH = 1000;

@Module({
  imports: [WorkspacesModule, DevicesModule, TypeOrmModule.forFeature([StoredSubscription, UserEntity])],
  controllers: [PushSubscriptionsController],
  providers: [
    PushDispatcher,
    PushQueue,
    PushSubscriptions,
    { provide: PushSender, useClass: HttpsPushSender },
    WebPush,
  ],
  exports: [WebPush],
})
export class WebPushModule {
  constructor(purge: WorkspacePurge, database: Database) {
    purge.addStep(
      async (workspaceId) =>
        (await database.run(pushSubscriptionStatements.purge, [workspaceId, PURGE_BATCH])).length,
    );
  }
}
