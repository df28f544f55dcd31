import type { Session } from '../api/index.js';
import { ApiError, SignInRequired } from '../http/index.js';
import { type Ended, hold, type SocketConstructor, type SocketTimes } from './socket.js';

export interface LiveRoomOptions {
  readonly session: Session;
  readonly workspaceId: string;
  readonly deviceId: string;
  /** The position of this device in the change log. */
  readonly cursor: () => number;
  /** Defaults to `globalThis.WebSocket`. Node.js 20 has none: pass the one of the package `ws`. */
  readonly WebSocket?: SocketConstructor;
  /** Something has changed, or may have changed without a connection: pull, or list the assets. */
  readonly onNews: (what: 'changes' | 'assets-changed') => void;
  /** Called when the connection opens or closes. Without one, news is not lost, only late. */
  readonly onConnected?: (isConnected: boolean) => void;
  readonly times?: Partial<SocketTimes>;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** From 0 to 1. */
  readonly random?: () => number;
}

/** The room was closed for a reason that reconnecting does not change. */
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

/** Close codes that ask the client to wait longer. */
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
 * Listens to a workspace until it is closed, and reconnects whenever the connection is lost. Every message, and every new
 * connection, is only a hint to pull.
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
    this.running.catch(() => undefined); // callers get it from `closed`
  }

  /** Resolves after `close`. @throws LiveRoomClosed when the room is closed for good */
  get closed(): Promise<void> {
    return this.running;
  }

  /** Reconnects at once if it is waiting to: the network may be back. */
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

  /** Runs one connection, from the token to its end. */
  private async connect(WebSocket: SocketConstructor): Promise<Ended> {
    const { session, workspaceId, deviceId, cursor, onNews, onConnected } = this.options;
    const path = `/api/v1/workspaces/${workspaceId}`;
    try {
      // A browser hides why an upgrade was refused, so ask for the workspace first: its error says why.
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
            onNews('assets-changed'); // the cursor does not cover assets
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
