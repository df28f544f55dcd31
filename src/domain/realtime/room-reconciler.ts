import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { CoalescingRunner } from '../../platform/async.js';
import { EventBus } from '../../platform/events/index.js';
import { KillSwitch } from '../../platform/kill-switch.js';
import { Log } from '../../platform/log.js';
import { ASSETS, CHANGES, WORKSPACE_DELETED } from '../workspaces/index.js';
import { AssetFeed } from './asset-feed.js';
import { Connections } from './connections.js';
import { PRESENCE } from './presence.js';
import { type Head, Rooms } from './rooms.js';
import { CloseCode } from './socket-connection.js';

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

  /** Notifies and closes all sockets of a deleted workspace. */
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

const EVERY_MS = 3_000;

/**
 * Compensates for lost events: every few seconds, and as soon as the link to the other instances is restored, it
 * compares what the rooms have sent with the database. This takes two statements, regardless of the number of rooms.
 */
@Injectable()
export class RoomReconciler implements OnApplicationBootstrap {
  private readonly looks = new CoalescingRunner(() => this.look());

  constructor(
    private readonly rooms: Rooms,
    private readonly connections: Connections,
    private readonly assets: AssetFeed,
    private readonly roomEvents: RoomEvents,
    private readonly bus: EventBus,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    this.bus.onGap(() => void this.now());
  }

  @Interval(EVERY_MS)
  async now(): Promise<void> {
    if (this.connections.size === 0) return;
    await this.log.bestEffort('reconcile the live rooms', () => this.looks.run());
  }

  private async look(): Promise<void> {
    const workspaceIds = this.connections.workspaceIds();
    const heads = await this.rooms.heads(workspaceIds);
    const elsewhere = await this.rooms.devicesElsewhere(workspaceIds);
    const found = new Set(heads.map(({ id }) => id));
    workspaceIds.filter((id) => !found.has(id)).forEach((id) => this.roomEvents.end(id));
    for (const head of heads) {
      // A failure in one room must not affect the others.
      await this.log.bestEffort('bring a room up to date', () => this.refresh(head, elsewhere.get(head.id)));
    }
  }

  private async refresh(head: Head, elsewhere: readonly string[] = []): Promise<void> {
    if (this.assets.isBehind(head.id, head.assetsRevision)) await this.assets.catchUp(head.id);
    const room = this.rooms.get(head.id);
    if (!room) return;
    if (head.headCursor !== room.changes.cursor) await room.changes.catchUp();
    // Not awaited: a thousand devices that connect or disconnect take seconds, and the other rooms must not wait for that.
    if (room.devices.differsWith(elsewhere))
      void this.log.bestEffort('notify a room of its devices', () => room.devices.catchUp());
  }
}
