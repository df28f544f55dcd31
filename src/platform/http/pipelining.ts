import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';

/** Unanswered requests per connection. A client that waits for each response has one. */
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
 * Reads no further request from a connection with 16 unanswered ones until a response has been sent. Node.js starts all
 * requests of a packet, possibly thousands, before it stops reading. The parser therefore gets each packet in parts, which end
 * where a request can end; the remainder is put back into the stream.
 *
 * Pipelined requests also take turns: per iteration of the event loop, one request of all connections starts, so that any
 * number of them delays the requests of other connections by one.
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

/** Whether an HTTP connection has no request that has begun and is not answered; its head may have begun to arrive. */
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
