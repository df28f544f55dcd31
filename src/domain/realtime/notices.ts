import { setImmediate } from 'node:timers/promises';
import type { Connection } from './socket-connection.js';

/** About 15 ms of work. */
const SENDS_PER_TURN = 1_000;

/**
 * Limits how much is sent in one event loop turn: after every 1,000 sends the sender yields, because otherwise
 * nothing else would run.
 */
export class SendBudget {
  private sends = 0;

  /** Adds sends and returns whether the budget is used up; if so, a new one starts. */
  isOverWith(sends: number): boolean {
    this.sends += sends;
    if (this.sends < SENDS_PER_TURN) return false;
    this.sends = 0;
    return true;
  }
}

/** Messages to one member per turn: well below the send buffer limit of a socket. */
const AT_A_STRETCH = 100;

/** A notice to a room about a device; it is not sent to that device. */
export interface Notice {
  readonly deviceId: string;
  readonly frame: Buffer;
}

/**
 * Notices in transit to the members of a room, in order for each member. When five hundred devices leave and five
 * hundred stay, that is a quarter of a million messages: they are sent in turns, so other work continues in between.
 */
export class Notices {
  private notices: readonly Notice[] = [];
  /** The number of notices sent per member; members that have received all of them are removed. */
  private readonly progress = new Map<Connection, number>();

  /**
   * Resolves when all notices have been sent. Do not call it again before that. Members that join meanwhile are not
   * notified.
   */
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

  /** Sends a member its remaining notices at once. */
  finish(member: Connection): void {
    this.sendSome(member, this.notices.length);
  }

  /** Returns the number of notices sent. */
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
