import type { FastifyRequest } from 'fastify';
import type { Socket } from 'node:net';
import { KeyedCounter } from '../async/index.js';
import { networkKey } from './client-address.js';

const LOOK_EVERY_MS = 1_000;

/** Minimum rate: this many bytes per interval, an interval being this many checks. */
const FAIR_BYTES = 10 * 1024;
const INTERVAL = 10;

/** In checks, 15 minutes: as long as an accepted upload may take. */
const LONGEST = 15 * 60;
const LEAST_LIMIT_BYTES = 64 * 1024 * 1024;

/** Limits of requests to wait for at a time, in total and per network; other requests get one interval. */
const MOST = 1_000;
const MOST_OF_NETWORK = 50;

/**
 * Reads the rest of requests that were answered before their body had arrived. Many clients read nothing until they have sent
 * all of it, and closing a connection with unread bytes resets it, so that the client loses the response. The rest is read and
 * discarded as long as the client sends 10 KiB in 10 s, for at most 15 minutes and twice MAX_FILE_BYTES.
 */
export class LingeringClose {
  private readonly sockets = new Set<Socket>();
  private readonly ofNetwork = new KeyedCounter();
  private readonly mostBytes: number;

  constructor(maxFileBytes: number) {
    this.mostBytes = Math.max(LEAST_LIMIT_BYTES, 2 * maxFileBytes);
  }

  /** Whether a response was already sent on this connection, so that no other may follow. */
  has(socket: Socket): boolean {
    return this.sockets.has(socket);
  }

  /** Reads the rest of a request whose response has been sent. */
  over({ raw: request, ip }: FastifyRequest): void {
    const { socket } = request;
    const leave = this.enter(socket, networkKey(ip));
    const mostLooks = leave ? LONGEST : INTERVAL;
    const begin = socket.bytesRead; // not visible in the request: Node.js discards its data
    let [looks, before] = [0, begin];
    const timer = setInterval(() => {
      looks++;
      const { bytesRead } = socket;
      const isSlow = looks % INTERVAL === 0 && bytesRead - before < FAIR_BYTES;
      if (isSlow || looks >= mostLooks || bytesRead - begin > this.mostBytes) socket.destroy();
      if (looks % INTERVAL === 0) before = bytesRead;
    }, LOOK_EVERY_MS);
    const stop = (): void => {
      clearInterval(timer);
      socket.off('close', stop);
      leave?.();
      if (socket.writableEnded) socket.destroy();
    };
    socket.once('close', stop); // an answered request no longer emits close
    request.once('end', stop);
    request.resume();
  }

  /** Returns undefined when too many are waited for already. */
  private enter(socket: Socket, network: string): (() => void) | undefined {
    if (this.sockets.size >= MOST || this.ofNetwork.of(network) >= MOST_OF_NETWORK) return undefined;
    this.sockets.add(socket);
    this.ofNetwork.increment(network);
    return () => {
      if (this.sockets.delete(socket)) this.ofNetwork.decrement(network);
    };
  }
}
