import type { BeforeApplicationShutdown } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerResponse } from 'node:http';
import { Server, type Socket } from 'node:net';

const DRAIN_MS = 25_000;

/** Who asked for readiness so lately will ask again, and gets so long to see the 503 and send requests elsewhere. */
const PROBE_INTERVAL_MS = 30_000;
const NOTICE_MS = 5_000;

/** A client at work on a kept connection gets so long to send its next request, whose answer says that it closes. */
const LAST_REQUEST_MS = 500;
const LOOK_EVERY_MS = 10;

export interface RequestEnd {
  /** From the request's headers on. */
  readonly ms: number;
  /** Whether the answer went out to its last byte; otherwise the connection has ended before. */
  readonly isAnswered: boolean;
  readonly ip: string;
}

type Listener = (request: FastifyRequest, reply: FastifyReply, end: RequestEnd) => void;

/**
 * Counts the requests under way, and tells when each is over. Holds a shutdown until they have ended, 25 s at most:
 * readiness goes first, then the port closes and each answer closes its connection. Only after it does the framework
 * close what is left, and the pool. No request that has reached this process is refused for it.
 */
export class InFlightRequests implements BeforeApplicationShutdown {
  private readonly responses = new Set<ServerResponse>();
  private readonly listeners: Listener[] = [];
  private server: Server | undefined;
  private isEnding = false;
  private isDraining = false;
  private askedAt: number | undefined;

  /** Whether the process is about to end, so that nobody should send it more. */
  get isShuttingDown(): boolean {
    return this.isEnding;
  }

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
      if (this.isDraining) reply.header('connection', 'close');
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

  /** Somebody has asked whether to send requests here. */
  noteReadinessProbe(): void {
    this.askedAt = performance.now();
  }

  /** From now on not ready. Resolves when who asks for that has had the time to see it: at once when nobody does. */
  async beginShutdown(): Promise<void> {
    this.isEnding = true;
    const isAsked = this.askedAt !== undefined && performance.now() - this.askedAt < PROBE_INTERVAL_MS;
    if (isAsked) await new Promise((resolve) => setTimeout(resolve, NOTICE_MS).unref());
  }

  async beforeApplicationShutdown(): Promise<void> {
    const isAnnounced = this.isEnding;
    this.isEnding = true;
    this.isDraining = true;
    // That of `http` would also cut off kept connections on which the next request is on its way.
    if (this.server?.listening) Server.prototype.close.call(this.server);
    for (const response of this.responses)
      if (!response.headersSent) response.setHeader('connection', 'close');
    const now = performance.now();
    await this.until(async () => !isAnnounced || (await this.connections()) === 0, now + LAST_REQUEST_MS);
    await this.until(() => Promise.resolve(this.count === 0), now + DRAIN_MS);
  }

  /** Of requests that came on one connection together, Node ends only the answer that it was sending. */
  private endQueued(connection: Socket): void {
    for (const response of this.responses)
      if (response.socket === null && response.req.socket === connection) response.emit('close');
  }

  private connections(): Promise<number> {
    return new Promise((resolve) => {
      if (this.server) this.server.getConnections((_error, count) => resolve(count));
      else resolve(0);
    });
  }

  private async until(isSo: () => Promise<boolean>, deadline: number): Promise<void> {
    while (!(await isSo()) && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }
}
