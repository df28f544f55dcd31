import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server, type Socket } from 'node:net';
import { KeyedCounter, DenseSet } from '../async/index.js';
import { networkKey } from './client-address.js';
import { WaitingClients } from './waiting-clients.js';

export interface RequestEnd {
  /** Measured from the request's headers. */
  readonly ms: number;
  /** Whether the response was sent to its last byte; otherwise the connection ended first. */
  readonly isAnswered: boolean;
  readonly ip: string;
}

type Listener = (request: FastifyRequest, reply: FastifyReply, end: RequestEnd) => void;

/** Two devices that sync with sixteen requests each. */
const FEW = 32;

/** Memory of a request until its response has been sent, without the bytes of the response. */
const BYTES_PER_ANSWER = 32 * 1024;

const NETWORK = Symbol('network');
type Answer = ServerResponse & { [NETWORK]?: string };

/** Tracks open connections and unfinished requests: how many there are, and when each request is finished. */
export class InFlightRequests {
  private readonly sockets = new DenseSet<Socket>();
  private readonly responses = new DenseSet<ServerResponse>();
  private readonly listeners: Listener[] = [];
  readonly waiting = new WaitingClients();
  /** Unfinished requests by client network. */
  private readonly networks = new KeyedCounter();
  private server: Server | undefined;
  private areLast = false;

  /** All unfinished requests, including those whose response has not been sent completely. */
  get count(): number {
    return this.responses.size;
  }

  /**
   * Requests that are being processed. A response that waits for its client to read, and a request whose client has not sent its
   * body, cost memory but no work.
   */
  get underWay(): number {
    let unanswered = 0;
    for (const { writableEnded, writableNeedDrain } of this.responses)
      if (!writableEnded && !writableNeedDrain) unanswered++;
    return Math.max(0, unanswered - this.waiting.unsentBodies);
  }

  /** Whether more than `most` requests are being processed. Costs next to nothing while there are few. */
  areMoreThan(most: number): boolean {
    return this.count - this.waiting.unsentBodies > most && this.underWay > most;
  }

  /** Whether the network of this address has more requests under way than an equal share of all requests, and than a few. */
  hasMoreThanItsShare(ip: string): boolean {
    const { networks, waiting } = this;
    const network = networkKey(ip);
    const share = (networks.total - waiting.unsentBodies) / networks.size;
    return networks.of(network) - waiting.unsentBodiesOf(network) > Math.max(FEW, share);
  }

  /** Must be registered before any other hook: a hook that refuses a request skips the hooks after it. */
  watch(fastify: FastifyInstance): void {
    this.server = fastify.server;
    this.watchServer(fastify.server);
    this.waiting.watch(fastify.server);
    fastify.addHook('onRequest', (request, reply, done) => {
      const beganAt = performance.now();
      const { ip } = request; // not available after the connection has ended
      const { raw } = reply;
      const { socket } = request.raw;
      const network = networkKey(ip);
      this.networks.increment(network);
      (raw as Answer)[NETWORK] = network;
      let isAnswered = false;
      raw.once('finish', () => (isAnswered = !socket.destroyed)); // also emitted when the rest of a response is discarded
      // Not onResponse: it never fires for a client that has disconnected.
      raw.once('close', () => {
        this.networks.decrement(network);
        const end = { ms: performance.now() - beganAt, isAnswered, ip };
        for (const listener of this.listeners) listener(request, reply, end);
      });
      if (this.areLast) reply.header('connection', 'close');
      done();
    });
  }

  /** Calls back once when a request is finished: immediately if it is already, because its client may have disconnected. */
  whenOver(response: ServerResponse, then: () => void): void {
    if (this.responses.has(response)) response.once('close', then);
    else then();
  }

  /** The listener is called for each request that the router could parse. */
  onEnd(listener: Listener): void {
    this.listeners.push(listener);
  }

  /**
   * Disconnects slow readers until at most `maxBytes` are held in memory; includes WebSockets. The network with the most unread
   * bytes is the first, with its connection that has the most. Returns the number of connections. A streamed response holds
   * next to nothing, however slowly it is read.
   */
  cutUnread(maxBytes: number): number {
    let bytes = 0;
    for (const { writableLength } of this.sockets) bytes += writableLength;
    for (const response of this.responses) bytes += unreadBytes(response);
    if (bytes <= maxBytes) return 0;
    const readers = new UnreadByNetwork();
    for (const response of this.responses) {
      const { socket } = response.req;
      readers.add(
        (response as Answer)[NETWORK] ?? networkKey(socket.remoteAddress),
        socket,
        unreadBytes(response),
      );
    }
    for (const socket of this.sockets)
      readers.add(networkKey(socket.remoteAddress), socket, socket.writableLength);
    let cut = 0;
    for (; bytes > maxBytes; cut++) {
      const [connection, itsBytes] = readers.takeLargest();
      if (!connection) break;
      bytes -= itsBytes;
      connection.destroy();
    }
    return cut;
  }

  /** Accepts no new connections from now on, and each response closes its connection. Active requests continue. */
  acceptNoMore(): void {
    this.areLast = true;
    // The `close` of `http` would also close keep-alive connections on which the next request is already on its way.
    if (this.server?.listening) Server.prototype.close.call(this.server);
    for (const response of this.responses)
      if (!response.headersSent) response.setHeader('connection', 'close');
  }

  /** The number of open connections, with or without a request. */
  connections(): Promise<number> {
    return new Promise((resolve) => {
      if (this.server) this.server.getConnections((_error, count) => resolve(count));
      else resolve(0);
    });
  }

  /** Uses the server's events instead of hooks: hooks miss requests that the router cannot parse, and WebSockets. */
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

  /** Of several pipelined requests on one connection, Node only ends the response that it was sending. */
  private endQueued(connection: Socket): void {
    for (const response of this.responses)
      if (response.socket === null && response.req.socket === connection) response.emit('close');
  }
}

/** Unread bytes of each connection of each network. */
class UnreadByNetwork {
  private readonly networks = new Map<string, { bytes: number; readonly connections: Map<Socket, number> }>();
  /** Of the network that a connection was counted for first; a proxy's connection carries requests of several. */
  private readonly networkOf = new Map<Socket, string>();

  add(network: string, connection: Socket, bytes: number): void {
    if (bytes === 0) return;
    const its = this.networkOf.get(connection) ?? network;
    this.networkOf.set(connection, its);
    const held = this.networks.get(its) ?? { bytes: 0, connections: new Map<Socket, number>() };
    this.networks.set(its, held);
    held.bytes += bytes;
    held.connections.set(connection, (held.connections.get(connection) ?? 0) + bytes);
  }

  /** The connection with the most bytes of the network with the most; none when there are no more. */
  takeLargest(): [Socket | undefined, number] {
    const largest = [...this.networks.values()].reduce(
      (most, one) => (one.bytes > most.bytes ? one : most),
      NOTHING,
    );
    const [connection, bytes] = [...largest.connections].reduce<[Socket | undefined, number]>(
      (most, one) => (one[1] > most[1] ? one : most),
      [undefined, 0],
    );
    if (connection) largest.connections.delete(connection);
    largest.bytes -= bytes;
    return [connection, bytes];
  }
}

const NOTHING = { bytes: 0, connections: new Map<Socket, number>() };

/** Bytes of a response that are not yet in its connection's buffer. */
function unreadBytes({ writableEnded, writableLength, socket }: ServerResponse): number {
  return writableLength - (socket?.writableLength ?? 0) + (writableEnded ? BYTES_PER_ANSWER : 0);
}
