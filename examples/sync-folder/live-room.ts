import { setTimeout as sleep } from 'node:timers/promises';
import WebSocket from 'ws';

const FIRST_WAIT_MS = 500;
const LAST_WAIT_MS = 30_000;
const SILENT_FOR_MS = 90_000;

export interface Room {
  /**
   * Called for every connection: a service token is valid for 15 minutes, and a socket lives no longer than its
   * token.
   */
  readonly address: () => Promise<string>;
  readonly deviceId: string;
  /** This device's position in the change log. */
  readonly cursor: () => number;
}

/**
 * Signals when there is something to sync: another device has changed something, or may have while the connection was
 * down.
 */
export class LiveRoom {
  private socket: WebSocket | undefined;
  private isClosed = false;
  private hasNews = false;
  private wake: (() => void) | undefined;
  private watchdog: NodeJS.Timeout | undefined;

  private constructor(private readonly room: Room) {}

  /** Resolves after the service's welcome: every later commit is signaled. */
  static async open(room: Room): Promise<LiveRoom> {
    const live = new LiveRoom(room);
    await live.connect();
    return live;
  }

  /** Resolves when there is something to sync that no earlier call has reported. */
  async news(): Promise<void> {
    if (!this.hasNews) await new Promise<void>((resolve) => (this.wake = resolve));
    this.hasNews = false;
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.watchdog);
    this.socket?.close();
  }

  private async connect(): Promise<void> {
    const socket = new WebSocket(await this.room.address(), { handshakeTimeout: 10_000 });
    this.socket = socket;
    const { deviceId } = this.room;
    socket.on('open', () =>
      socket.send(JSON.stringify({ type: 'hello', cursor: this.room.cursor(), deviceId })),
    );
    socket.on('ping', () => this.expectLife(socket));
    await new Promise<void>((resolve, reject) => {
      socket.on('message', (data: Buffer) => {
        const message = JSON.parse(data.toString()) as { type: string; cursor?: number };
        if (message.type === 'welcome' && message.cursor !== this.room.cursor()) this.tell();
        if (message.type === 'changes') this.tell();
        if (message.type === 'welcome') resolve();
      });
      socket.on('error', reject);
      socket.on('close', (code) => reject(new Error(`the live room was closed with ${code}`)));
    });
    socket.on('close', () => void this.reconnect());
    this.expectLife(socket);
  }

  /** Reconnects with growing, random delays: clients that were disconnected together must not reconnect together. */
  private async reconnect(): Promise<void> {
    for (let wait = FIRST_WAIT_MS; !this.isClosed; wait = Math.min(wait * 2, LAST_WAIT_MS)) {
      await sleep(wait * (0.5 + Math.random()), undefined, { ref: false });
      if (
        await this.connect().then(
          () => true,
          () => false,
        )
      )
        return;
    }
  }

  private tell(): void {
    this.hasNews = true;
    this.wake?.();
  }

  /** The service pings every 30 s; without this, a connection silently dropped by the network would go unnoticed. */
  private expectLife(socket: WebSocket): void {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => socket.terminate(), SILENT_FOR_MS);
    this.watchdog.unref();
  }
}
