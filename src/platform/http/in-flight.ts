import { Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server, type Socket } from 'node:net';
import { DenseSet, KeyedCounter } from '../async.js';
import { clientInScope } from '../log.js';
import { type Counter, type Histogram, Metrics } from '../metrics.js';
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

/** Listeners of one event of a response: a few of ours, and one of the framework for each time that the reply is awaited. */
const MOST_LISTENERS = 16;

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

  /** Whether more than `most` requests are being processed. Cheap while there are few. */
  areMoreThan(most: number): boolean {
    return this.count - this.waiting.unsentBodies > most && this.underWay > most;
  }

  /** Whether the network of this address has more requests in progress than an equal share of all, and more than `FEW`. */
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
   * Disconnects slow readers until at most `maxBytes` are held in memory; includes WebSockets. Starts with the network that has
   * the most unread bytes, and with its connection that has the most. Returns the number of closed connections. A streamed
   * response holds almost no memory, however slowly it is read.
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
      response.setMaxListeners(MOST_LISTENERS);
      response.on('close', leave);
    });
  }

  /** Of several pipelined requests on one connection, Node only ends the response that it was sending. */
  private endQueued(connection: Socket): void {
    for (const response of this.responses)
      if (response.socket === null && response.req.socket === connection) response.emit('close');
  }
}

class UnreadByNetwork {
  private readonly networks = new Map<string, { bytes: number; readonly connections: Map<Socket, number> }>();
  /** The network for which a connection was first counted; a proxy's connection carries requests of several networks. */
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

  /** The connection with the most bytes, of the network with the most; undefined when none is left. */
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

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Request metrics by route pattern: paths would reveal what users have, and have unlimited cardinality. */
@Injectable()
export class RequestMetrics {
  private readonly durations: Histogram;
  private readonly brokenOff: Counter;
  private readonly rateLimited: Counter;

  constructor(metrics: Metrics, inFlight: InFlightRequests) {
    this.durations = metrics.histogram(
      'cloud_sync_http_request_duration_seconds',
      'Duration of answered requests, from their headers to the last byte of the response; includes the request body',
      ['route', 'method', 'status'],
      SECONDS,
    );
    this.brokenOff = metrics.counter(
      'cloud_sync_http_requests_broken_off_total',
      'Requests whose connection was closed by either side before the last byte of the response',
      ['route', 'method'],
    );
    this.rateLimited = metrics.counter(
      'cloud_sync_rate_limited_total',
      'Requests refused with 429 by a rate limit',
    );
    metrics.gauge('cloud_sync_http_requests_in_flight', 'Requests in progress', [], () => [
      { value: inFlight.underWay },
    ]);
    if (metrics.isOn) inFlight.onEnd((request, reply, end) => this.count(request, reply, end));
  }

  private count(request: FastifyRequest, { statusCode }: FastifyReply, { ms, isAnswered }: RequestEnd): void {
    const route = request.is404 ? 'none' : (request.routeOptions.url ?? 'none');
    const { method } = request;
    const status = `${Math.floor(statusCode / 100)}xx`;
    if (isAnswered) this.durations.observe({ route, method, status }, ms / 1000);
    else this.brokenOff.add({ route, method });
    if (statusCode === 429) this.rateLimited.add();
  }
}

/** Work items that start in a turn of the event loop: requests, and large chunks of bodies. */
const AT_ONCE = 6;

const LATELY_MS = 1_000;

interface Piece {
  readonly begin: () => void;
  readonly isOver: () => boolean;
}

let begun = 0;
/** Items that each user or network has started since `since`. */
const had = new Map<string, number>();
let since = 0;
const waiting = new Map<string, Piece[]>();

/**
 * Waits for a place in a turn of the event loop. The user or network that has recently had the fewest is next: thousands of items
 * that arrive at once delay another user's by a few. Danger: release what other requests wait for before you wait for this.
 * @param isOver whether the item was abandoned: it then takes no place
 * @returns undefined when a place is free immediately
 */
export function loopTurn(isOver = never, client = clientInScope() ?? ''): Promise<void> | undefined {
  if (begun < AT_ONCE && waiting.size === 0) {
    count(client);
    return undefined;
  }
  return new Promise((begin) => {
    const its = waiting.get(client);
    if (its) its.push({ begin, isOver });
    else waiting.set(client, [{ begin, isOver }]);
  });
}

const never = (): boolean => false;

function count(client: string): void {
  if (begun++ === 0) setImmediate(nextTurn);
  had.set(client, (had.get(client) ?? 0) + 1);
}

function nextTurn(): void {
  begun = 0;
  if (performance.now() - since > LATELY_MS) {
    since = performance.now();
    had.clear();
  }
  while (begun < AT_ONCE && waiting.size > 0) beginNext();
}

function beginNext(): void {
  let [next, fewest] = ['', Infinity];
  for (const client of waiting.keys()) {
    const its = had.get(client) ?? 0;
    if (its < fewest) [next, fewest] = [client, its];
  }
  const its = waiting.get(next) ?? [];
  const piece = its.shift();
  if (its.length === 0) waiting.delete(next);
  if (!piece?.isOver()) count(next);
  piece?.begin();
}
