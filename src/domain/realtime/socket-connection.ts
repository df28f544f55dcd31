import type { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { Principal } from '../../access/index.js';
import type { Counter } from '../../platform/metrics.js';
import { type ErrorCode, frameOf, type ServerMessage } from './messages.js';

/** Reasons for the service to close a socket. 1001 and 1009 are defined by the protocol. */
export const CloseCode = {
  /** The service is shutting down; reconnect. */
  goingAway: 1001,
  /** A frame was larger than 64 KiB. */
  tooLarge: 1009,
  /** The service cannot continue with this socket at the moment; reconnect. */
  tryAgainLater: 1013,
  /** The token was revoked or has expired, or its user is gone; get a new token first. */
  unauthorized: 4401,
  /** The account was suspended. */
  suspended: 4403,
  /** The workspace was deleted. */
  workspaceNotFound: 4404,
  /** The client reads more slowly than the service sends; reconnect and pull. */
  tooSlow: 4408,
  /** More than 30 messages in 10 s. */
  rateLimited: 4429,
} as const;

export type CloseCode = (typeof CloseCode)[keyof typeof CloseCode];

/** The result of authorizing an upgrade: the principal and the workspace. */
export interface Admission {
  readonly principal: Principal;
  readonly workspaceId: string;
  /** The key under which the client's connections are counted. */
  readonly addressKey: string;
  /** The workspace's assets revision, read before the 101: a client that has seen it is notified of every later change. */
  readonly assetsRevision: number;
}

const MAX_BUFFERED_BYTES = 1024 * 1024;
const MESSAGES_PER_WINDOW = 30;
const WINDOW_MS = 10_000;
const MOST_PONGS_DUE = 2;

/** A peer that does not answer a close is cut after this time. */
const CLOSE_WITHIN_MS = 5_000;

/** One socket: its principal, its workspace and its remaining limits. */
export class Connection {
  /** The device id from the client's hello; undefined before. */
  deviceId: string | undefined;

  readonly principal: Principal;
  readonly workspaceId: string;
  readonly addressKey: string;

  /** The assets revision up to which this socket has been notified. */
  assetsRevision: number;

  /** When the peer was last heard from and last pinged, in elapsed milliseconds of the clock. */
  lastHeard: number;
  lastPinged: number;

  private readonly arrivals: number[] = [];
  /** Pings of the service that may still be answered: the latest one, and one whose pong is in flight. */
  private pongsDue = 0;
  private isClosing = false;

  constructor(
    private readonly socket: WebSocket,
    private readonly transport: Duplex,
    { principal, workspaceId, addressKey, assetsRevision }: Admission,
    now: number,
    private readonly sent: Counter,
  ) {
    this.principal = principal;
    this.workspaceId = workspaceId;
    this.addressKey = addressKey;
    this.assetsRevision = assetsRevision;
    this.lastHeard = now;
    this.lastPinged = now;
  }

  /** False as soon as the service or the peer closes the socket. */
  get isOpen(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  /** Whether sent data is still buffered here because the peer has not read it. */
  get hasUnsentData(): boolean {
    return this.isOpen && this.transport.writableLength > 0;
  }

  send(message: ServerMessage): void {
    this.sendFrame(frameOf(message));
  }

  /**
   * Writes past ws, which would frame the same message again for each socket. ws writes whole frames too, so its
   * pings and pongs never split ours; nothing may follow its close frame. Slow consumers are disconnected, not
   * buffered: they pull after reconnecting.
   */
  sendFrame(frame: Buffer): void {
    if (!this.isOpen) return;
    this.transport.write(frame);
    this.sent.add();
    if (this.transport.writableLength > MAX_BUFFERED_BYTES) this.close(CloseCode.tooSlow);
  }

  sendError(code: ErrorCode, message: string): void {
    this.send({ type: 'error', code, message });
  }

  /** Whether a message, ping or pong that arrives now is within the limit of 30 in 10 s. */
  mayReceive(now: number): boolean {
    this.arrivals.push(now);
    if (this.arrivals.length <= MESSAGES_PER_WINDOW) return true;
    const thirtyAgo = this.arrivals.shift() ?? now;
    return now - thirtyAgo >= WINDOW_MS;
  }

  /** Whether a pong that arrives now is within that limit; a reply to one of our pings does not count. */
  mayReceivePong(now: number): boolean {
    if (this.pongsDue === 0) return this.mayReceive(now);
    this.pongsDue--;
    return true;
  }

  ping(now: number): void {
    if (!this.isOpen) return;
    this.lastPinged = now;
    this.pongsDue = Math.min(this.pongsDue + 1, MOST_PONGS_DUE);
    this.socket.ping();
  }

  /** Closes with a code; the peer has 5 s to complete the close. Nothing is sent afterwards. */
  close(code: CloseCode): void {
    if (this.isClosing) return;
    this.isClosing = true;
    this.socket.close(code); // also when the peer has started to close: a peer that stops half-way is cut too
    this.cutSoon();
  }

  /** Closes with a code and stops parsing input: for a peer that sends too much. */
  shut(code: CloseCode): void {
    this.close(code);
    this.transport.removeAllListeners('data'); // input is discarded until the peer has closed too
    this.transport.resume();
    this.transport.end();
  }

  /** Cuts the socket in 5 s unless it is closed by then: for a peer that has been sent a close code. */
  cutSoon(): void {
    const cut = setTimeout(() => this.socket.terminate(), CLOSE_WITHIN_MS);
    cut.unref();
    this.socket.once('close', () => clearTimeout(cut));
  }

  /** Cuts the socket at once: for a peer that is unreachable. */
  cut(): void {
    this.socket.terminate();
  }
}

/** About 15 ms of work. */
const SENDS_PER_TURN = 1_000;

/** Limits how much is sent in one event loop turn: the sender yields after every 1,000 sends, so that other work can run. */
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

  /** Resolves when all notices have been sent. Do not call it again before that. Members that join meanwhile are not notified. */
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
