import type { Session } from '../api/index.js';
import { ApiError, SignInRequired } from '../http/index.js';
import { type Ended, hold, type SocketConstructor, type SocketTimes } from './socket.js';

/** What a room needs. */
export interface LiveRoomOptions {
  readonly session: Session;
  readonly workspaceId: string;
  readonly deviceId: string;
  /** Where this device is in the change log. */
  readonly cursor: () => number;
  /** `globalThis.WebSocket` unless told; Node.js 20 has none: the one of the package `ws`. */
  readonly WebSocket?: SocketConstructor;
  /** Something has changed, or may have while there was no connection: pull, or list the assets. */
  readonly onNews: (what: 'changes' | 'assets-changed') => void;
  /** Whether there is a connection. Without one, nothing is lost and nothing is told. */
  readonly onConnected?: (isConnected: boolean) => void;
  readonly times?: Partial<SocketTimes>;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** From 0 to 1. */
  readonly random?: () => number;
}

/** Why a room was given up: connecting again would change nothing. */
export class LiveRoomClosed extends Error {
  override readonly name = 'LiveRoomClosed';

  constructor(
    readonly reason: 'workspace deleted' | 'access denied' | 'signed out' | 'client at fault',
    options?: ErrorOptions,
  ) {
    super(`the live room is closed for good: ${reason}`, options);
  }
}

const TIMES: SocketTimes = { welcomeMs: 20_000, silenceMs: 75_000 };
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;

/** Close codes after which the service wants to be left alone for a while. */
const BACK_OFF = new Set([1013, 4429]);

const FOR_GOOD: Readonly<Record<number, LiveRoomClosed['reason']>> = {
  1002: 'client at fault',
  1007: 'client at fault',
  1008: 'client at fault',
  1009: 'client at fault',
  4403: 'access denied',
  4404: 'workspace deleted',
};

/**
 * Listens to a workspace until it is stopped, and connects again whenever the connection is lost. A message is a hint to
 * pull and nothing more, and so is each new connection.
 */
export class LiveRoom {
  private readonly stopping = new AbortController();
  private waking = new AbortController();
  private readonly running: Promise<void>;

  /** @throws TypeError when there is no WebSocket */
  constructor(private readonly options: LiveRoomOptions) {
    const WebSocket = options.WebSocket ?? (globalThis as { WebSocket?: SocketConstructor }).WebSocket;
    if (!WebSocket) throw new TypeError('this platform has no WebSocket: give the one of the package ws');
    this.running = this.run(WebSocket);
    this.running.catch(() => undefined); // for whoever asks `closed`
  }

  /** Ends when `close` was called. @throws LiveRoomClosed when the room is closed for good */
  get closed(): Promise<void> {
    return this.running;
  }

  /** The network may be back: connects now, if it was going to wait. */
  wake(): void {
    this.waking.abort();
  }

  async close(): Promise<void> {
    this.stopping.abort();
    await this.running.catch(() => undefined);
  }

  private async run(WebSocket: SocketConstructor): Promise<void> {
    const { signal } = this.stopping;
    const { sleep = pause, random = Math.random } = this.options;
    for (let failures = 0; ;) {
      const { code, wasWelcome } = await this.connect(WebSocket);
      if (signal.aborted) return;
      const reason = FOR_GOOD[code];
      if (reason) throw new LiveRoomClosed(reason);
      failures = wasWelcome && !BACK_OFF.has(code) ? 0 : failures + (BACK_OFF.has(code) ? 3 : 1);
      const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 10));
      this.waking = new AbortController();
      await sleep(random() * longest, AbortSignal.any([signal, this.waking.signal]));
    }
  }

  /** One connection, from the token to its end. */
  private async connect(WebSocket: SocketConstructor): Promise<Ended> {
    const { session, workspaceId, deviceId, cursor, onNews, onConnected } = this.options;
    const path = `/api/v1/workspaces/${workspaceId}`;
    try {
      // A refused upgrade tells a browser nothing but that it failed: the workspace itself tells why.
      await session.send({ method: 'GET', path, signal: this.stopping.signal });
      const socket = new WebSocket(await session.socketUrl(`${path}/ws`));
      return await hold(
        socket,
        { ...TIMES, ...this.options.times },
        {
          signal: this.stopping.signal,
          hello: () => ({ cursor: cursor(), deviceId }),
          onWelcome: () => {
            onConnected?.(true);
            onNews('changes');
            onNews('assets-changed'); // of which no cursor tells
          },
          onNews,
        },
      );
    } catch (error) {
      if (error instanceof SignInRequired) throw new LiveRoomClosed('signed out', { cause: error });
      if (error instanceof ApiError) throwIfForGood(error);
      return { code: 0, wasWelcome: false };
    } finally {
      onConnected?.(false);
    }
  }
}

function throwIfForGood(error: ApiError): void {
  const reasons = { 401: 'signed out', 403: 'access denied', 404: 'workspace deleted' } as const;
  const reason = (reasons as Readonly<Record<number, LiveRoomClosed['reason']>>)[error.status];
  if (reason) throw new LiveRoomClosed(reason, { cause: error });
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
