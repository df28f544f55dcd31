import type { ChangeFeed } from './change-feed.js';
import type { Connection } from './connection.js';
import type { DeviceFeed } from './device-feed.js';

/** The sockets of one workspace on this instance that have said hello, and what they are told. */
export class Room {
  constructor(
    readonly members: Set<Connection>,
    readonly changes: ChangeFeed,
    readonly devices: DeviceFeed,
  ) {}

  /**
   * Welcomes a socket whose device has been added. Its cursor is at least that of the last change committed before; from
   * there on it is told of every change by another device, once.
   */
  async welcome(connection: Connection): Promise<void> {
    await this.devices.catchUp();
    await this.changes.catchUp();
    if (!connection.isOpen) return;
    // No await between the two: a change told in between would be missed, or come before the welcome.
    this.members.add(connection);
    this.devices.finishTelling(connection); // where it says hello again
    connection.send({
      type: 'welcome',
      cursor: this.changes.cursor,
      deviceCount: this.devices.count,
    });
  }
}
