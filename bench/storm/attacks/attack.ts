import { connect, type Socket } from 'node:net';
import { type Role, sourceOf, type Target, urlFor } from '../network.js';
import type { Accomplice } from '../accomplices.js';
import type { Possessions } from '../fill.js';
import type { Peer } from '../peer.js';
import type { Person } from '../person.js';

/** The resources of an attack. */
export interface Scene {
  readonly target: Target;
  /** The hostile account. */
  readonly hostile: Person;
  /** Nine more hostile accounts. */
  readonly accomplices: readonly Accomplice[];
  readonly possessions: Possessions;
  /** A JWT of the hostile account, valid for the rest of this storm. */
  readonly token: string;
  /** Opens an HTTP client, which is closed when the storm ends unless its connections are not kept alive. */
  readonly peer: (role: Role, n: number, options?: { isKept?: boolean }) => Peer;
  /** Ends the storm. */
  readonly signal: AbortSignal;
  /** Counts outcomes of an attack: statuses, opened and closed sockets. */
  readonly count: (what: string, by?: number) => void;
}

/** One way to harm other users. Each attack has a rate limit, because clients and service share this machine. */
export interface Attack {
  readonly name: string;
  /** Whether it needs an account. */
  readonly by: 'stranger' | 'account';
  /** Resolves when the storm is over. */
  run(scene: Scene): Promise<void>;
}

export interface Pace {
  readonly perSecond: number;
  readonly atOnce: number;
}

const TICK_MS = 50;

/** Starts `work` at most `perSecond` times a second, with at most `atOnce` in flight, until the storm ends. Does not await it. */
export function paced(
  { signal }: Scene,
  { perSecond, atOnce }: Pace,
  work: (n: number) => Promise<unknown>,
): Promise<void> {
  let [allowed, begun, underWay] = [1, 0, 0];
  return ticking(signal, () => {
    allowed = Math.min(allowed + (perSecond * TICK_MS) / 1000, Math.max(perSecond, 1));
    for (; allowed >= 1 && underWay < atOnce; allowed--) {
      underWay++;
      void work(begun++).finally(() => underWay--);
    }
  });
}

/** Calls `tick` twenty times a second until the storm is over. */
export function ticking(signal: AbortSignal, tick: () => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setInterval(tick, TICK_MS);
    const stop = (): void => {
      clearInterval(timer);
      resolve();
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  });
}

export interface Sockets {
  readonly role: Role;
  /** Number of open sockets. Closed ones are replaced, at most `opensPerSecond` a second. */
  readonly count: number;
  readonly opensPerSecond: number;
  /** Number of source addresses. */
  readonly addresses?: number;
}

/** Holds TCP connections open until the storm ends. Calls `dress` with each new one, and never reads from it itself. */
export async function holding(
  { target, signal, count: tally }: Scene,
  { role, count, opensPerSecond, addresses = 8 }: Sockets,
  dress: (socket: Socket, n: number, headers: string) => void,
): Promise<void> {
  const sockets = new Set<Socket>();
  let [allowed, n] = [count, 0];
  await ticking(signal, () => {
    allowed = Math.min(allowed + (opensPerSecond * TICK_MS) / 1000, count);
    // Open a tenth at a time, because the kernel's backlog is short.
    for (let batch = Math.ceil(count / 10); batch > 0 && allowed >= 1 && sockets.size < count; batch--) {
      allowed--;
      const { localAddress, headers } = sourceOf(target, role, n % addresses);
      const { hostname, port } = new URL(urlFor(target, n));
      const socket = connect({ host: hostname, port: Number(port), localAddress }).pause();
      sockets.add(socket);
      socket.once('connect', () => tally('opened'));
      socket.on('error', () => undefined);
      socket.once('close', () => {
        if (sockets.delete(socket) && !signal.aborted) tally('closed');
      });
      dress(socket, n++, headerLines({ Host: 'storm', ...headers }));
    }
  });
  for (const socket of sockets) socket.destroy();
}

export const headerLines = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
