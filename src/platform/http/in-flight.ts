import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server, type Socket } from 'node:net';
import { KeyedCounter, DenseSet } from '../async/index.js';
import { networkKey } from './client-address.js';

export interface RequestEnd {
  /** From the request's headers on. */
  readonly ms: number;
  /** Whether the answer went out to its last byte; otherwise the connection has ended before. */
  readonly isAnswered: boolean;
  readonly ip: string;
}

type Listener = (request: FastifyRequest, reply: FastifyReply, end: RequestEnd) => void;

/** Two devices that sync with sixteen requests each. */
const FEW = 32;

/** Memory of a request until its answer is sent, without the bytes of the answer. */
const BYTES_PER_ANSWER = 32 * 1024;

/** The open connections and the requests that are not over: how many there are, and when each is over. */
export class InFlightRequests {
  private readonly sockets = new DenseSet<Socket>();
  private readonly responses = new DenseSet<ServerResponse>();
  private readonly listeners: Listener[] = [];
  /** Requests by the network that they come from. */
  private readonly networks = new KeyedCounter();
  private server: Server | undefined;
  private areLast = false;

  /** All that are not over: those with an answer that is not sent yet count. */
  get count(): number {
    return this.responses.size;
  }

  /** Requests without a complete answer. An answer that waits for its client to read it costs memory and no work. */
  get underWay(): number {
    let unanswered = 0;
    for (const { writableEnded } of this.responses) if (!writableEnded) unanswered++;
    return unanswered;
  }

  /** Whether more are under way. Costs next to nothing while there are few. */
  areMoreThan(most: number): boolean {
    return this.count > most && this.underWay > most;
  }

  /** Whether the network of this address has more requests than an equal share of all, and more than a few. */
  hasMoreThanItsShare(ip: string): boolean {
    const { total, size } = this.networks;
    return this.networks.of(networkKey(ip)) > Math.max(FEW, total / size);
  }

  /** Before any other hook: one that refuses a request keeps it from those after it. */
  watch(fastify: FastifyInstance): void {
    this.server = fastify.server;
    this.watchServer(fastify.server);
    fastify.addHook('onRequest', (request, reply, done) => {
      const beganAt = performance.now();
      const { ip } = request; // a connection that has ended has none
      const { raw } = reply;
      const { socket } = request.raw;
      const network = networkKey(ip);
      this.networks.increment(network);
      let isAnswered = false;
      raw.once('finish', () => (isAnswered = !socket.destroyed)); // it comes too when the rest of an answer is thrown away
      // Not onResponse: it never comes for a client that has gone.
      raw.once('close', () => {
        this.networks.decrement(network);
        const end = { ms: performance.now() - beganAt, isAnswered, ip };
        for (const listener of this.listeners) listener(request, reply, end);
      });
      if (this.areLast) reply.header('connection', 'close');
      done();
    });
  }

  /** Calls back once when a request is over: at once if it is already, for its client may have gone. */
  whenOver(response: ServerResponse, then: () => void): void {
    if (this.responses.has(response)) response.once('close', then);
    else then();
  }

  /** Whoever listens hears of each request that the router could read. */
  onEnd(listener: Listener): void {
    this.listeners.push(listener);
  }

  /**
   * Ends connections whose clients do not read, those with most unread bytes first, until no more than `maxBytes` are held in
   * memory; sockets count as well. Returns how many. What is sent as a stream holds next to nothing, however slowly it is read.
   */
  cutUnread(maxBytes: number): number {
    let bytes = 0;
    for (const { writableLength } of this.sockets) bytes += writableLength;
    for (const response of this.responses) bytes += unreadBytes(response);
    if (bytes <= maxBytes) return 0;
    const held = new Map<Socket, number>();
    for (const socket of this.sockets) held.set(socket, socket.writableLength);
    for (const response of this.responses) {
      const { socket } = response.req;
      held.set(socket, (held.get(socket) ?? 0) + unreadBytes(response));
    }
    let cut = 0;
    for (const [connection, itsBytes] of [...held].sort(([, one], [, other]) => other - one)) {
      if (bytes <= maxBytes) break;
      bytes -= itsBytes;
      connection.destroy();
      cut++;
    }
    return cut;
  }

  /** No new connection from now on, and each answer closes its own. Those that are under way go on. */
  acceptNoMore(): void {
    this.areLast = true;
    // That of `http` would also cut off kept connections on which the next request is on its way.
    if (this.server?.listening) Server.prototype.close.call(this.server);
    for (const response of this.responses)
      if (!response.headersSent) response.setHeader('connection', 'close');
  }

  /** How many connections are open, with a request or without. */
  connections(): Promise<number> {
    return new Promise((resolve) => {
      if (this.server) this.server.getConnections((_error, count) => resolve(count));
      else resolve(0);
    });
  }

  /** Of the server rather than by hooks: these miss requests that the router cannot read, and sockets. */
  private watchServer(server: FastifyInstance['server']): void {
    const { responses, sockets } = this;
    server.on('connection', (connection: Socket) => {
      sockets.add(connection);
      connection.once('close', () => {
        sockets.delete(connection);
        this.endQueued(connection);
      });
    });
    function leave(this: ServerResponse): void {
      responses.delete(this);
    }
    server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      responses.add(response);
      response.on('close', leave);
    });
  }

  /** Of requests that came on one connection together, Node ends only the answer that it was sending. */
  private endQueued(connection: Socket): void {
    for (const response of this.responses)
      if (response.socket === null && response.req.socket === connection) response.emit('close');
  }
}

/** Bytes of an answer that are not yet in the buffer of its connection. */
function unreadBytes({ writableEnded, writableLength, socket }: ServerResponse): number {
  return writableLength - (socket?.writableLength ?? 0) + (writableEnded ? BYTES_PER_ANSWER : 0);
}
