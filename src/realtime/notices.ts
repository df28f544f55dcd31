import { setImmediate } from 'node:timers/promises';
import type { Connection } from './socket-connection.js';

/** About 15 ms of work. */
const SENDS_PER_TURN = 1_000;

/**
 * Counts what is sent at a stretch: after every 1,000 the sender yields to the event loop, or nothing else would get
 * done.
 */
export class SendBudget {
  private sends = 0;

  /** Whether it is over with so many more; then the next one begins. */
  isOverWith(sends: number): boolean {
    this.sends += sends;
    if (this.sends < SENDS_PER_TURN) return false;
    this.sends = 0;
    return true;
  }
}

/** Of messages to one member in a turn: well below what a socket may have waiting. */
const AT_A_STRETCH = 100;

/** What a room is told of a device; to that device itself it is no news. */
export interface Notice {
  readonly deviceId: string;
  readonly frame: Buffer;
}

/**
 * Notices on their way to the members of a room, to each in their order. Five hundred devices that go while five hundred
 * stay are a quarter of a million messages: they leave in turns, between which everything else goes on.
 */
export class Notices {
  private notices: readonly Notice[] = [];
  /** How many of them a member has been sent; who has all is left out. */
  private readonly progress = new Map<Connection, number>();

  /** Resolves when all have been sent. Not to be called before that; who becomes a member meanwhile is not told. */
  async send(members: Iterable<Connection>, notices: readonly Notice[]): Promise<void> {
    if (notices.length === 0) return;
    this.notices = notices;
    for (const member of members) this.progress.set(member, 0);
    const turn = new SendBudget();
    while (this.progress.size > 0) {
      for (const member of this.progress.keys())
        if (turn.isOverWith(this.sendSome(member, AT_A_STRETCH))) await setImmediate();
    }
  }

  /** Sends a member at once what it is still to be sent. */
  finish(member: Connection): void {
    this.sendSome(member, this.notices.length);
  }

  /** How many were sent. */
  private sendSome(member: Connection, atMost: number): number {
    const begin = this.progress.get(member);
    if (begin === undefined) return 0;
    const end = Math.min(begin + atMost, this.notices.length);
    for (const { deviceId, frame } of this.notices.slice(begin, end))
      if (deviceId !== member.deviceId) member.sendFrame(frame);
    if (end < this.notices.length) this.progress.set(member, end);
    else this.progress.delete(member);
    return end - begin;
  }
}
