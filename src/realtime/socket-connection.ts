import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Principal } from '../access/index.js';
import type { Counter } from '../platform/metrics/index.js';
import { CloseCode } from './close-codes.js';
import { type ErrorCode, frameOf, type ServerMessage } from './messages.js';

/** Who may come in, and where. */
export interface Admission {
  readonly principal: Principal;
  readonly workspaceId: string;
  /** As clients are counted by it. */
  readonly addressKey: string;
  /** What the workspace's assets were at before the 101: whoever has seen that is told of every later change. */
  readonly assetsRevision: number;
}

const MAX_BUFFERED_BYTES = 1024 * 1024;
const MESSAGES_PER_WINDOW = 30;
const WINDOW_MS = 10_000;
const MOST_PONGS_DUE = 2;

/** A peer that does not answer a close is cut off after this. */
const CLOSE_WITHIN_MS = 5_000;

/** One socket: who opened it, for which workspace, and what it may still do. */
export class Connection {
  /** As the client said hello; undefined before. */
  deviceId: string | undefined;

  readonly principal: Principal;
  readonly workspaceId: string;
  readonly addressKey: string;

  /** Of its workspace's assets, what it need not be told of any more. */
  assetsRevision: number;

  /** When the peer was last heard of and last pinged, in the clock's elapsed milliseconds. */
  lastHeard: number;
  lastPinged: number;

  private readonly arrivals: number[] = [];
  /** Our pings that may still be answered: the last one, and one whose answer is on its way. */
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

  /** False from the moment on at which the service or the peer ends it. */
  get isOpen(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  /** Whether what was sent is still waiting here for the peer to read. */
  get hasUnsentData(): boolean {
    return this.isOpen && this.transport.writableLength > 0;
  }

  send(message: ServerMessage): void {
    this.sendFrame(frameOf(message));
  }

  /**
   * Past the library, which would frame the same message anew for each socket. The library too writes whole frames, so its
   * pings and pongs come between ours; nothing may come after its close. A peer that does not read is closed rather than
   * remembered for: it pulls when it is back.
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

  /** Whether a message, a ping or a pong that arrives now is within the limit of 30 in 10 s. */
  mayReceive(now: number): boolean {
    this.arrivals.push(now);
    if (this.arrivals.length <= MESSAGES_PER_WINDOW) return true;
    const thirtyAgo = this.arrivals.shift() ?? now;
    return now - thirtyAgo >= WINDOW_MS;
  }

  /** Whether a pong that arrives now is within that limit; the answer to a ping of ours does not count. */
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

  /** Closes with a code; the peer has 5 s to agree. Nothing is sent after it. */
  close(code: CloseCode): void {
    if (this.isClosing) return;
    this.isClosing = true;
    this.socket.close(code); // also when the peer has begun to: one that stops half-way is cut off as well
    this.cutSoon();
  }

  /** Closes with a code, and parses nothing more: for a peer that sends too much. */
  shut(code: CloseCode): void {
    this.close(code);
    this.transport.removeAllListeners('data'); // what comes until the peer has closed too is thrown away
    this.transport.resume();
    this.transport.end();
  }

  /** Cuts it off in 5 s unless it is closed by then: for a peer that was told why. */
  cutSoon(): void {
    const cut = setTimeout(() => this.socket.terminate(), CLOSE_WITHIN_MS);
    cut.unref();
    this.socket.once('close', () => clearTimeout(cut));
  }

  /** Cuts it off at once: for a peer that cannot be reached any more. */
  cut(): void {
    this.socket.terminate();
  }
}
