import { connect, type Socket } from 'node:net';
import { type Role, sourceOf, type Target, urlFor } from '../network.js';
import type { Possessions } from '../fill.js';
import type { Peer } from '../peer.js';
import type { Person } from '../person.js';

/** What an attack has to work with. */
export interface Scene {
  readonly target: Target;
  /** The hostile account. */
  readonly hostile: Person;
  readonly possessions: Possessions;
  /** A JWT of the hostile account, good for the rest of this storm. */
  readonly token: string;
  /** An HTTP client of this storm. It ends with it, whatever it is at, unless its connections are not kept. */
  readonly peer: (role: Role, n: number, options?: { isKept?: boolean }) => Peer;
  /** Ends the storm. */
  readonly signal: AbortSignal;
  /** Counts what has become of an attack: statuses, sockets opened and closed. */
  readonly count: (what: string, by?: number) => void;
}

/** One way to hurt others. What it may do in a second is part of it: clients and service share this machine's processors. */
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

/** Begins `work` so often a second, with so many at most under way, until the storm is over. What is under way then is left alone. */
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
  /** How many are held open. One that is closed is opened anew, so many a second at most. */
  readonly count: number;
  readonly opensPerSecond: number;
}

/** Holds TCP connections open until the storm is over. None of them is read unless `dress`, which is called with each new one, reads it. */
export async function holding(
  { target, signal, count: tally }: Scene,
  { role, count, opensPerSecond }: Sockets,
  dress: (socket: Socket, n: number, headers: string) => void,
): Promise<void> {
  const sockets = new Set<Socket>();
  let [allowed, n] = [count, 0];
  await ticking(signal, () => {
    allowed = Math.min(allowed + (opensPerSecond * TICK_MS) / 1000, count);
    // A tenth at a time: the kernel's queue of connections is short.
    for (let batch = Math.ceil(count / 10); batch > 0 && allowed >= 1 && sockets.size < count; batch--) {
      allowed--;
      const { localAddress, headers } = sourceOf(target, role, n % 8);
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
