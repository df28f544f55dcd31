import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Clock } from '../../platform/clock/index.js';
import { Log } from '../../platform/log/index.js';
import { Connections } from './connections.js';
import { Presence } from './presence.js';
import { Rooms } from './rooms.js';

const BEAT_EVERY_MS = 5_000;
const PING_EVERY_MS = 30_000;
const SILENT_FOR_MS = 60_000;

/**
 * Every 5 s, renews the lease by which other instances know this one and cuts sockets that have been silent. Pings
 * each socket every 30 s.
 */
@Injectable()
export class Heartbeat {
  private lastBeat = 0;

  constructor(
    private readonly connections: Connections,
    private readonly presence: Presence,
    private readonly rooms: Rooms,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  @Interval(BEAT_EVERY_MS)
  async beat(): Promise<void> {
    this.ping(this.clock.elapsed());
    await this.log.bestEffort('renew the lease', () => this.presence.renewLease());
    if (this.presence.takeForgotten()) for (const { devices } of this.rooms.all()) devices.forgetWritten();
    await this.rooms.settleAll();
  }

  /**
   * After a late beat, for example because the process was stopped, frames that peers sent meanwhile are still
   * unread.
   */
  private ping(now: number): void {
    const isLate = now - this.lastBeat > 3 * BEAT_EVERY_MS;
    this.lastBeat = now;
    for (const connection of this.connections) {
      if (isLate) connection.lastHeard = now;
      if (now - connection.lastHeard >= SILENT_FOR_MS) connection.cut();
      else if (isLate || now - connection.lastPinged >= PING_EVERY_MS) connection.ping(now);
    }
  }
}
