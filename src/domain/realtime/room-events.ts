import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { EventBus } from '../../platform/events/index.js';
import { KillSwitch } from '../../platform/kill-switch/index.js';
import { Log } from '../../platform/log/index.js';
import { ASSETS, CHANGES, WORKSPACE_DELETED } from '../workspaces/index.js';
import { AssetFeed } from './asset-feed.js';
import { CloseCode } from './close-codes.js';
import { Connections } from './connections.js';
import { PRESENCE, Rooms } from './rooms.js';

/** Forwards events from the bus to the rooms of this instance. */
@Injectable()
export class RoomEvents implements OnApplicationBootstrap {
  constructor(
    private readonly bus: EventBus,
    private readonly rooms: Rooms,
    private readonly connections: Connections,
    private readonly assets: AssetFeed,
    private readonly killSwitch: KillSwitch,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    this.bus.on(CHANGES, (id, _origin, committed) => {
      const feed = this.rooms.get(id)?.changes;
      if (feed) this.refresh(() => (committed?.change ? feed.catchUpWith(committed.change) : feed.catchUp()));
    });
    this.bus.on(ASSETS, (id) => this.refresh(() => this.assets.catchUp(id)));
    this.bus.on(PRESENCE, (id, origin) => {
      if (origin === 'elsewhere') this.refresh(async () => this.rooms.get(id)?.devices.catchUp());
    });
    this.killSwitch.onChange((mode) => {
      if (mode === 'down') this.connections.closeWhere(() => true, CloseCode.tryAgainLater);
    });
    this.bus.on(WORKSPACE_DELETED, (id) => this.end(id));
  }

  /** The workspace has been deleted: all its sockets are notified and closed. */
  end(workspaceId: string): void {
    for (const connection of this.connections.of(workspaceId)) {
      connection.sendError('workspace_not_found', 'the workspace was deleted');
      connection.close(CloseCode.workspaceNotFound);
    }
  }

  private refresh(work: () => Promise<void>): void {
    void this.log.bestEffort('bring a room up to date', work);
  }
}
