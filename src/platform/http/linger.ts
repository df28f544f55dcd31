import type { FastifyRequest } from 'fastify';
import type { Socket } from 'node:net';
import { KeyedCounter } from '../async/index.js';
import { networkKey } from './client-address.js';

const LOOK_EVERY_MS = 1_000;

/** A fair pace: so much in each interval of so many looks. */
const FAIR_BYTES = 10 * 1024;
const INTERVAL = 10;

/** As long as an upload that is accepted may take: 15 minutes. */
const LONGEST = 15 * 60;
const LEAST_LIMIT_BYTES = 64 * 1024 * 1024;

/** Requests that are waited for at a time, of all clients and of one network; others have one interval. */
const MOST = 1_000;
const MOST_OF_NETWORK = 50;

/**
 * Requests that were answered before their body had come. Many clients read nothing until they have sent all of it, and a
 * connection that is closed with unread bytes is reset, which costs the client its answer. So the rest is read and thrown away,
 * as long as the client sends 10 KiB in 10 s, for 15 minutes and twice MAX_FILE_BYTES at most.
 */
export class Lingering {
  private readonly sockets = new Set<Socket>();
  private readonly ofNetwork = new KeyedCounter();
  private readonly mostBytes: number;

  constructor(maxFileBytes: number) {
    this.mostBytes = Math.max(LEAST_LIMIT_BYTES, 2 * maxFileBytes);
  }

  /** Whether the connection has its answer, so that none may follow. */
  has(socket: Socket): boolean {
    return this.sockets.has(socket);
  }

  /** Reads the rest of a request whose answer has been sent. */
  over({ raw: request, ip }: FastifyRequest): void {
    const { socket } = request;
    const leave = this.enter(socket, networkKey(ip));
    const mostLooks = leave ? LONGEST : INTERVAL;
    const begin = socket.bytesRead; // the request itself tells nothing: Node.js throws away what comes for it
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
    socket.once('close', stop); // an answered request has no close of its own any more
    request.once('end', stop);
    request.resume();
  }

  /** Undefined when too many are waited for already. */
  private enter(socket: Socket, network: string): (() => void) | undefined {
    if (this.sockets.size >= MOST || this.ofNetwork.of(network) >= MOST_OF_NETWORK) return undefined;
    this.sockets.add(socket);
    this.ofNetwork.increment(network);
    return () => {
      if (this.sockets.delete(socket)) this.ofNetwork.decrement(network);
    };
  }
}
