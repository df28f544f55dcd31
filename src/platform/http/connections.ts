import type { FastifyRequest } from 'fastify';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { KeyedCounter } from '../async.js';
import { addressKey, networkKey } from './client-address.js';

/** Maximum number of unanswered requests per connection. A client that waits for each response has one. */
const MOST_UNANSWERED = 16;

/** The end of the last header line and the empty line after it; a chunked body ends with them as well. */
const END_OF_HEADERS = '\n\r\n';
const LONGEST_END = '\r\n\r\n'.length;

const READER = Symbol('reader');
const UNANSWERED = Symbol('unanswered');
const BODY_LEFT = Symbol('body left');
const IS_HELD = Symbol('is held');
const IS_IN_LINE = Symbol('is in line');

/** The socket of an HTTP connection, with properties that Node.js and this file add. */
interface Connection extends Socket {
  /** Null once the connection has become a WebSocket. */
  parser?: object | null;
  /** Whether Node.js itself has stopped reading because of unsent responses; it then also resumes on its own. */
  _paused?: boolean;
  /** Node's listener that parses the bytes. */
  [READER]?: (this: Socket, chunk: Buffer) => void;
  /** Requests whose responses have not been sent. */
  [UNANSWERED]: number;
  /** Bytes left of the current request; Infinity when unknown, 0 between two requests. */
  [BODY_LEFT]: number;
  [IS_HELD]: boolean;
  [IS_IN_LINE]?: boolean;
}

/**
 * Reads no further request from a connection with 16 unanswered ones until a response has been sent. Node.js starts all requests
 * of a packet, possibly thousands, before it stops reading. The parser therefore gets each packet in parts, which end where a
 * request can end; the remainder is put back into the stream.
 *
 * Pipelined requests also take turns: one of them, over all connections, starts per iteration of the event loop, so that any
 * number of them delays a request on another connection by one.
 */
export function limitPipelining(server: Server): void {
  server.on('connection', (connection: Connection) => {
    const [reader] = connection.listeners('data') as Connection[typeof READER][];
    if (!reader) return;
    connection.off('data', reader);
    Object.assign(connection, { [READER]: reader, [UNANSWERED]: 0, [BODY_LEFT]: 0, [IS_HELD]: false });
    connection.on('data', read);
    connection.destroySoon = destroySoon;
  });
  // Registered before the framework, to see every request: also without a Host, unroutable ones and preflights.
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const connection = request.socket as Connection;
    const { 'content-length': length = 0, 'transfer-encoding': encoding } = request.headers;
    connection[BODY_LEFT] = encoding === undefined ? Number(length) : Infinity;
    connection[UNANSWERED]++;
    response.on('close', noteAnswered);
  });
}

/** Whether an HTTP connection has no unanswered request. The head of its next request may have begun to arrive. */
export function isBetweenRequests(connection: Socket): boolean {
  const { parser, [UNANSWERED]: unanswered } = connection as Connection;
  return parser !== null && unanswered === 0;
}

/** Call this when the last byte of a request has been parsed. */
export function noteComplete({ socket }: IncomingMessage): void {
  (socket as Connection)[BODY_LEFT] = 0;
}

function read(this: Connection, chunk: Buffer): void {
  let at = 0;
  let hasBegun = false;
  while (at < chunk.length && this.parser && !mustWait(this) && !(hasBegun && isBetween(this))) {
    const end = partEnd(this, chunk, at);
    const unanswered = this[UNANSWERED];
    this[READER]?.(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
    hasBegun ||= this[UNANSWERED] > unanswered;
    at = end;
  }
  if (this.parser) this[IS_HELD] = at < chunk.length;
  else this.off('data', read); // now a WebSocket, which adds its own listener
  if (at === chunk.length) return;
  if (this.parser) this.pause(); // before unshift: a flowing stream would immediately emit the chunk again
  this.unshift(chunk.subarray(at));
  if (this.parser && !mustWait(this)) waitForTurn(this);
}

/** Connections with a request that may start when it is their turn. */
const line: Connection[] = [];

function waitForTurn(connection: Connection): void {
  if (connection[IS_IN_LINE]) return;
  connection[IS_IN_LINE] = true;
  if (line.push(connection) === 1) setImmediate(next);
}

function next(): void {
  const connection = line.shift();
  if (connection) {
    connection[IS_IN_LINE] = false;
    resumeReading(connection);
  }
  if (line.length > 0) setImmediate(next);
}

/**
 * Node.js calls this to close a connection after its last response: unread bytes would cause a reset, and the response would
 * be lost. While a body is still arriving, close only our side; `LingeringClose` does the rest.
 */
function destroySoon(this: Connection): void {
  if (this.parser && this[BODY_LEFT] !== 0) this.end();
  else Socket.prototype.destroySoon.call(this);
}

/** Returns the end of the part that starts at `at` and contains at most one end of a request. */
function partEnd(connection: Connection, chunk: Buffer, at: number): number {
  const left = connection[BODY_LEFT];
  if (left > 0 && left < Infinity) {
    const length = Math.min(left, chunk.length - at);
    connection[BODY_LEFT] -= length;
    return at + length;
  }
  // The end may have started in the previous packet, at any of its four bytes.
  if (at < LONGEST_END && (chunk[at] === 0x0d || chunk[at] === 0x0a)) return at + 1;
  const end = chunk.indexOf(END_OF_HEADERS, at);
  return end < 0 ? chunk.length : end + END_OF_HEADERS.length;
}

/** Called when a response was sent or its connection has ended. */
function noteAnswered(this: ServerResponse): void {
  const connection = this.req.socket as Connection;
  connection[UNANSWERED]--;
  if (connection[IS_HELD] && connection.parser && !mustWait(connection)) waitForTurn(connection);
}

function resumeReading(connection: Connection): void {
  if (!connection[IS_HELD] || !connection.parser || mustWait(connection)) return;
  connection[IS_HELD] = false;
  connection.resume();
}

/** A started request is read to its end; none starts after the last response. */
function mustWait(connection: Connection): boolean {
  if (connection._paused) return true;
  return isBetween(connection) && (connection[UNANSWERED] >= MOST_UNANSWERED || connection.writableEnded);
}

const isBetween = (connection: Connection): boolean => connection[BODY_LEFT] === 0;

/** A tenth of the server's limit. An office behind one address has some hundreds; a family's ten devices have fifty. */
export const CONNECTIONS_PER_ADDRESS = 1_000;

/** The limit for an IPv6 /48, which contains 65,536 of the /64 networks that count as addresses. */
const CONNECTIONS_PER_NETWORK = 2_000;

/**
 * Closes connections beyond the limit of their address (for IPv6, the /64) or of their network (the /48) immediately. Beyond
 * `most` in total, one of the networks with the most loses its oldest connection, preferably one without a request, such as one
 * whose head has not arrived. Only for a server that clients reach directly: behind a proxy, all connections come from the proxy.
 */
export function limitConnections(server: Server, most: number): void {
  const addresses = new KeyedCounter();
  const networks = new Map<string, Set<Socket>>();
  server.on('connection', (connection: Socket) => {
    const { remoteAddress = '' } = connection;
    const [address, network] = [addressKey(remoteAddress), networkKey(remoteAddress)];
    if (
      addresses.of(address) >= CONNECTIONS_PER_ADDRESS ||
      (networks.get(network)?.size ?? 0) >= CONNECTIONS_PER_NETWORK
    ) {
      connection.destroy();
      return;
    }
    const ofNetwork = networks.get(network) ?? new Set();
    networks.set(network, ofNetwork);
    addresses.increment(address);
    ofNetwork.add(connection);
    connection.once('close', () => {
      addresses.decrement(address);
      ofNetwork.delete(connection);
      if (ofNetwork.size === 0) networks.delete(network);
    });
    if (addresses.total > most) superfluous(networks, ofNetwork.size, most)?.destroy();
  });
}

/**
 * The connection to close: one without a request, of a network with more than `own` connections and at least half as many as the
 * largest; otherwise any of such a network, if the largest has a hundredth of all; otherwise any without a request.
 */
function superfluous(
  networks: ReadonlyMap<string, Set<Socket>>,
  own: number,
  most: number,
): Socket | undefined {
  const largestFirst = [...networks.values()].sort((one, other) => other.size - one.size);
  const largest = largestFirst[0]?.size ?? 0;
  const large = largestFirst.filter(({ size }) => size > own && 2 * size >= largest);
  return (
    oldestOf(large, isBetweenRequests) ??
    (largest >= most / 100 ? oldestOf(large) : undefined) ??
    oldestOf(largestFirst, isBetweenRequests)
  );
}

/** Each set has its oldest connection first. */
function oldestOf(
  networks: readonly ReadonlySet<Socket>[],
  isMeant: (connection: Socket) => boolean = () => true,
): Socket | undefined {
  for (const connections of networks)
    for (const connection of connections) if (!connection.destroyed && isMeant(connection)) return connection;
  return undefined;
}

const LOOK_EVERY_MS = 1_000;

/** Minimum rate: this many bytes per interval, an interval being this many checks. */
const FAIR_BYTES = 10 * 1024;
const INTERVAL = 10;

/** In checks, 15 minutes: as long as an accepted upload may take. */
const LONGEST = 15 * 60;
const LEAST_LIMIT_BYTES = 64 * 1024 * 1024;

/** Maximum number of requests to wait for at a time, in total and per network; further requests get one interval. */
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

  /** Returns undefined when either limit is reached. */
  private enter(socket: Socket, network: string): (() => void) | undefined {
    if (this.sockets.size >= MOST || this.ofNetwork.of(network) >= MOST_OF_NETWORK) return undefined;
    this.sockets.add(socket);
    this.ofNetwork.increment(network);
    return () => {
      if (this.sockets.delete(socket)) this.ofNetwork.decrement(network);
    };
  }
}
