import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Database } from '../../../platform/database/index.js';
import { UserEntity } from '../../auth/index.js';
import { WorkspacePurge, WorkspacesModule } from '../../workspaces/index.js';
import { DevicesModule } from '../index.js';
import { PushDispatcher } from './push-dispatcher.js';
import { PushQueue } from './push-queue.js';
import { HttpsPushSender, PushSender } from './push-sender.js';
import { PushSubscriptions, PushSubscriptionsController, StoredSubscription } from './push-subscriptions.js';
import { pushSubscriptionStatements } from './web-push.queries.js';
import { WebPush } from './web-push.service.js';

export { StoredSubscription } from './push-subscriptions.js';
export { generateVapidKeys, WebPush } from './web-push.service.js';

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
