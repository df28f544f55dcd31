import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Clock } from '../platform/clock/index.js';
import { Log } from '../platform/log/index.js';
import { Connections } from './connections.js';
import { Presence } from './presence.js';
import { Rooms } from './rooms.js';

const BEAT_EVERY_MS = 5_000;
const PING_EVERY_MS = 30_000;
const SILENT_FOR_MS = 60_000;

/** Tells the living from the dead: peers of this instance by pings, this instance for the others by its lease. */
@Injectable()
export class Heartbeat {
  constructor(
    private readonly connections: Connections,
    private readonly presence: Presence,
    private readonly rooms: Rooms,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  @Interval(BEAT_EVERY_MS)
  async beat(): Promise<void> {
    const now = this.clock.elapsed();
    for (const connection of this.connections) {
      if (now - connection.lastHeard >= SILENT_FOR_MS) connection.cut();
      else if (now - connection.lastPinged >= PING_EVERY_MS) connection.ping(now);
    }
    if (this.rooms.all().length > 0) await this.log.bestEffort('renew the lease', () => this.renewLease());
  }

  /** A process that was stopped for longer than its lease has been taken for dead: its devices are written again. */
  private async renewLease(): Promise<void> {
    if (!(await this.presence.renewLease())) return;
    for (const room of this.rooms.all()) {
      room.devices.forgetWritten();
      await room.devices.catchUp();
    }
  }
}
