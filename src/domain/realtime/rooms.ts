import { Injectable } from '@nestjs/common';
import { Devices } from '../devices/index.js';
import { CoalescingRunner } from '../../platform/async.js';
import { Database } from '../../platform/database/index.js';
import { EventBus } from '../../platform/events/index.js';
import { Log } from '../../platform/log.js';
import { ChangeLogReader } from '../sync/index.js';
import type { WorkspaceEntity } from '../workspaces/index.js';
import { ChangeFeed } from './change-feed.js';
import type { Connection } from './socket-connection.js';
import { DeviceFeed } from './device-feed.js';
import { Presence, realtimeStatements } from './presence.js';

/** The sockets of one workspace on this instance that have said hello, and their feeds. */
class Room {
  constructor(
    readonly members: Set<Connection>,
    readonly changes: ChangeFeed,
    readonly devices: DeviceFeed,
  ) {}

  /**
   * Welcomes a socket whose device has been added. The cursor it gets is at least that of the last change committed
   * before the call; from there on it receives every change by another device exactly once.
   */
  async welcome(connection: Connection): Promise<void> {
    await this.devices.catchUp();
    await this.changes.catchUp();
    if (!connection.isOpen) return;
    // No await between these lines: a change sent in between would be missed, or arrive before the welcome.
    this.members.add(connection);
    this.devices.finishTelling(connection); // for a repeated hello
    connection.send({
      type: 'welcome',
      cursor: this.changes.cursor,
      deviceCount: this.devices.count,
    });
  }
}

export type Head = Readonly<Pick<WorkspaceEntity, 'id' | 'headCursor' | 'assetsRevision'>>;

/** The rooms of this instance: one per workspace with at least one socket here that has said hello. */
@Injectable()
export class Rooms {
  private readonly rooms = new Map<string, Room>();
  private readonly settling = new CoalescingRunner(() => this.settleRest());

  constructor(
    private readonly database: Database,
    private readonly sync: ChangeLogReader,
    private readonly presence: Presence,
    private readonly devices: Devices,
    private readonly bus: EventBus,
    private readonly log: Log,
  ) {}

  get(workspaceId: string): Room | undefined {
    return this.rooms.get(workspaceId);
  }

  all(): Room[] {
    return [...this.rooms.values()];
  }

  /** Adds a connection that has said hello. @throws NotFound when the workspace has been deleted */
  async join(connection: Connection, deviceId: string): Promise<void> {
    const { workspaceId, principal } = connection;
    const room = this.rooms.get(workspaceId) ?? this.open(workspaceId, principal.userId);
    room.devices.add(deviceId);
    await room.welcome(connection);
  }

  /** Removes a connection that has joined or started to join. */
  async leave(connection: Connection): Promise<void> {
    const { workspaceId, deviceId } = connection;
    const room = this.rooms.get(workspaceId);
    if (!room || deviceId === undefined) return;
    room.members.delete(connection);
    room.devices.remove(deviceId);
    await this.settle(workspaceId, room);
  }

  /** Retries presence writes that failed; does nothing when all have succeeded. */
  settleAll(): Promise<void> {
    return this.settling.run();
  }

  /** Settles each room independently, including rooms that all members have left. */
  private async settleRest(): Promise<void> {
    for (const [workspaceId, room] of this.rooms) {
      if (room.devices.isWritten && !room.devices.isEmptyHere) continue;
      await this.log.bestEffort('bring the devices of a room up to date', () =>
        this.settle(workspaceId, room),
      );
    }
  }

  /** An empty room is kept until the other instances know that it is empty; otherwise its devices would count as live. */
  private async settle(workspaceId: string, room: Room): Promise<void> {
    await room.devices.catchUp();
    if (room.devices.isEmptyHere && this.rooms.get(workspaceId) === room) this.rooms.delete(workspaceId);
  }

  /** The heads of the workspaces that still exist. */
  heads(workspaceIds: readonly string[]): Promise<Head[]> {
    return this.database.run<Head>(realtimeStatements.heads, [workspaceIds]);
  }

  /** The devices on other instances by workspace. */
  devicesElsewhere(workspaceIds: readonly string[]): Promise<Map<string, string[]>> {
    return this.presence.elsewhere(workspaceIds);
  }

  private open(workspaceId: string, ownerId: string): Room {
    const members = new Set<Connection>();
    const changes = new ChangeFeed(workspaceId, this.sync, members);
    const workspace = { id: workspaceId, ownerId };
    const devices = new DeviceFeed(workspace, members, this.presence, this.devices, this.bus);
    const room = new Room(members, changes, devices);
    this.rooms.set(workspaceId, room);
    return room;
  }
}
