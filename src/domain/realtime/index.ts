import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Background } from '../../platform/jobs/index.js';
import { AuthModule } from '../auth/index.js';
import { DevicesModule } from '../devices/index.js';
import { WebPush, WebPushModule } from '../devices/web-push/index.js';
import { SyncModule } from '../sync/index.js';
import { WorkspacePurge, WorkspacesModule } from '../workspaces/index.js';
import { AssetFeed } from './asset-feed.js';
import { Connections } from './connections.js';
import { Instance, Presence, PresentDevice } from './presence.js';
import { RealtimeGateway, UpgradeController } from './realtime.gateway.js';
import { RoomEvents, RoomReconciler } from './room-reconciler.js';
import { Rooms } from './rooms.js';
import { Heartbeat, SocketShutdown } from './socket-adapter.js';
import { TokenWatch } from './token-watch.js';
import { UpgradeAuthorizer } from './upgrade-authorizer.js';

export { UpgradeAuthorizer } from './upgrade-authorizer.js';
export { SocketAdapter } from './socket-adapter.js';

@Module({
  imports: [
    AuthModule,
    DevicesModule,
    SyncModule,
    WebPushModule,
    WorkspacesModule,
    TypeOrmModule.forFeature([Instance, PresentDevice]),
  ],
  controllers: [UpgradeController],
  providers: [
    AssetFeed,
    Connections,
    UpgradeAuthorizer,
    Heartbeat,
    RoomReconciler,
    Presence,
    RealtimeGateway,
    RoomEvents,
    Rooms,
    SocketShutdown,
    TokenWatch,
  ],
  exports: [UpgradeAuthorizer],
})
export class RealtimeModule implements OnApplicationBootstrap {
  constructor(
    private readonly background: Background,
    private readonly heartbeat: Heartbeat,
    presence: Presence,
    webPush: WebPush,
    purge: WorkspacePurge,
    @InjectRepository(PresentDevice) devices: Repository<PresentDevice>,
  ) {
    // Where workspaces are on nodes, no foreign key deletes these rows.
    purge.addStep(async (workspaceId) => (await devices.delete({ workspaceId })).affected ?? 0);
    webPush.skipWhen((workspaceId, deviceIds) => presence.presentAmong(workspaceId, deviceIds));
  }

  /** Beats before the first client is admitted, so that a check for a running service on this database sees this one. */
  async onApplicationBootstrap(): Promise<void> {
    if (this.background.isOn) await this.heartbeat.beat();
  }
}
