/** The WebSocket of browsers, of Node.js 22 and of the package `ws`. */
export interface Socket {
  send(data: string): void;
  close(): void;
  addEventListener(type: 'open' | 'error', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: { readonly code: number }) => void): void;
}

/** Such as `globalThis.WebSocket`. */
export type SocketConstructor = new (url: string) => Socket;

/** Timeouts after which a socket counts as dead. */
export interface SocketTimes {
  /** Until the welcome message, connecting included. */
  readonly welcomeMs: number;
  /** Without a message. A ping is sent after a third of this time. */
  readonly silenceMs: number;
}

/** How a connection ended. */
export interface Ended {
  /** Close code of the WebSocket; 0 after a timeout or an invalid message. */
  readonly code: number;
  readonly wasWelcome: boolean;
}

interface Connection {
  readonly hello: () => { readonly cursor: number; readonly deviceId: string };
  readonly onWelcome: (cursor: number) => void;
  readonly onNews: (type: 'changes' | 'assets-changed') => void;
  readonly signal: AbortSignal;
}

/**
 * Runs one connection until it ends. A browser does not expose the service's pings, and a dead link closes no socket, so
 * the client sends ping messages, which the service answers.
 */
export function hold(socket: Socket, times: SocketTimes, connection: Connection): Promise<Ended> {
  return new Promise((resolve) => {
    let wasWelcome = false;
    const welcomed = setTimeout(() => end(0), times.welcomeMs);
    let [pinging, silent] = [undefined as Timer, undefined as Timer];
    const end = (code: number): void => {
      for (const timer of [welcomed, pinging, silent]) clearTimeout(timer);
      connection.signal.removeEventListener('abort', stop);
      socket.close();
      resolve({ code, wasWelcome });
    };
    const stop = (): void => end(1000);
    const alive = (): void => {
      for (const timer of [pinging, silent]) clearTimeout(timer);
      silent = setTimeout(() => end(0), times.silenceMs);
      pinging = setTimeout(() => socket.send('{"type":"ping"}'), times.silenceMs / 3);
    };
    connection.signal.addEventListener('abort', stop);
    socket.addEventListener('open', () =>
      socket.send(JSON.stringify({ type: 'hello', ...connection.hello() })),
    );
    socket.addEventListener('error', () => undefined); // `close` follows
    socket.addEventListener('close', ({ code }) => end(code));
    socket.addEventListener('message', ({ data }) => {
      const message = messageOf(data);
      if (!message) {
        end(0);
        return;
      }
      if (message.type === 'welcome' && Number.isSafeInteger(message.cursor)) {
        clearTimeout(welcomed);
        wasWelcome = true;
        connection.onWelcome(message.cursor as number);
      }
      if (message.type === 'changes' || message.type === 'assets-changed') connection.onNews(message.type);
      if (wasWelcome) alive();
    });
  });
}

type Timer = ReturnType<typeof setTimeout> | undefined;

function messageOf(data: unknown): { readonly type?: unknown; readonly cursor?: unknown } | undefined {
  try {
    const message: unknown = typeof data === 'string' ? JSON.parse(data) : undefined;
    return typeof message === 'object' && message !== null ? message : undefined;
  } catch {
    return undefined;
  }
}
