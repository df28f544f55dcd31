import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerResponse } from 'node:http';
import { Server, type Socket } from 'node:net';
import { Roster } from '../async/index.js';

export interface RequestEnd {
  /** From the request's headers on. */
  readonly ms: number;
  /** Whether the answer went out to its last byte; otherwise the connection has ended before. */
  readonly isAnswered: boolean;
  readonly ip: string;
}

type Listener = (request: FastifyRequest, reply: FastifyReply, end: RequestEnd) => void;

/** The requests under way: how many there are, and when each is over. */
export class InFlightRequests {
  private readonly responses = new Roster<ServerResponse>();
  private readonly listeners: Listener[] = [];
  private server: Server | undefined;
  private areLast = false;

  get count(): number {
    return this.responses.size;
  }

  /** Before any other hook: one that refuses a request keeps it from those after it. */
  watch(fastify: FastifyInstance): void {
    this.server = fastify.server;
    fastify.server.on('connection', (connection: Socket) => {
      connection.once('close', () => this.endQueued(connection));
    });
    fastify.addHook('onRequest', (request, reply, done) => {
      const beganAt = performance.now();
      const { ip } = request; // a connection that has ended has none
      const { raw } = reply;
      const { socket } = request.raw;
      let isAnswered = false;
      raw.once('finish', () => (isAnswered = !socket.destroyed)); // it comes too when the rest of an answer is thrown away
      this.responses.add(raw);
      // Not onResponse: it never comes for a client that has gone, and the drain would wait for it in vain.
      raw.once('close', () => {
        this.responses.delete(raw);
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
   * Ends connections whose clients do not read their answers, those with most of them first, until no more than `maxBytes` of
   * answers are held in memory. Returns how many. What is sent as a stream holds next to nothing, however slowly it is read.
   */
  cutUnread(maxBytes: number): number {
    let bytes = 0;
    for (const { writableLength } of this.responses) bytes += writableLength;
    if (bytes <= maxBytes) return 0;
    const held = new Map<Socket, number>();
    for (const { req, writableLength } of this.responses)
      held.set(req.socket, (held.get(req.socket) ?? 0) + writableLength);
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

  /** Of requests that came on one connection together, Node ends only the answer that it was sending. */
  private endQueued(connection: Socket): void {
    for (const response of this.responses)
      if (response.socket === null && response.req.socket === connection) response.emit('close');
  }
}
