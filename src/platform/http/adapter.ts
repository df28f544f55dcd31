import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { isOfGoneWorkspace } from '../database/index.js';
import { requestScope } from '../log.js';
import { BadRequest, ExpectationFailed, faultOf, messageFor, NotFound } from './api-errors.js';
import { clientAddress, networkKey } from './client-address.js';
import { limitConnections, limitPipelining, LingeringClose, noteComplete } from './connections.js';
import type { InFlightRequests, RequestEnd } from './in-flight.js';
import { securityHeaders } from './json-response.js';
import { isHealth } from './overload.js';
import { isEncodedUtf8 } from './place.js';

/**
 * A request that counts as an upgrade only if it asks for a WebSocket. Node passes every request with an `Upgrade` header to its
 * upgrade listener; an offer of h2c, which some HTTP clients send with every request, must be ignored.
 */
class UpgradableRequest extends IncomingMessage {
  private isUpgrade = false;

  get upgrade(): boolean {
    const isWebSocket = this.headers.upgrade?.toLowerCase() === 'websocket';
    return this.isUpgrade && (isWebSocket || this.method === 'CONNECT');
  }

  set upgrade(isUpgrade: boolean) {
    this.isUpgrade = isUpgrade;
  }

  /** Node.js pushes null after it has parsed the last byte. */
  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    if (chunk === null) noteComplete(this);
    return super.push(chunk, encoding);
  }
}

const MAX_HEADER_BYTES = 16 * 1024;

/**
 * Includes WebSockets. A connection costs a file descriptor and about 10 KiB; on small machines, the system's own limit is
 * reached first.
 */
const MAX_CONNECTIONS = 10_000;

/** Connections that may arrive before a connection that was closed to make room has ended. */
const CONNECTIONS_OF_BURST = 500;

const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+\s*(?:;.*)?$/;

/** Logged instead of an unparsable URL, because its secret parts cannot be told apart. */
const UNREADABLE = '[unreadable]';

export interface AdapterOptions {
  readonly trustProxy: boolean;
  readonly isHttps: boolean;
  readonly maxFileBytes: number;
  /** Whether limits per client apply; `RATE_LIMIT_PER_MINUTE=0` switches them off. */
  readonly hasLimits: boolean;
}

/** Configures Fastify for this service: bodies stay unread until a handler reads them, long path parameters, flat errors. */
export function createAdapter(
  logger: Logger,
  inFlight: InFlightRequests,
  options: AdapterOptions,
): FastifyAdapter {
  const headers = securityHeaders(options.isHttps);
  const lingering = new LingeringClose(options.maxFileBytes);
  const adapter = new FastifyAdapter({
    // One proxy: `onlyClientAddress` leaves one entry in X-Forwarded-For.
    trustProxy: options.trustProxy ? (_address, hop) => hop === 0 : false,
    genReqId: () => randomUUID(),
    // An encrypted path has up to 4,096 characters, and the router's default is 100: longer ones must reach validation.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    // Longer than the idle timeout of a proxy, so that the proxy never uses a connection that is closing.
    keepAliveTimeout: 72_000,
    // Closes a silent socket, but lets a slow client take its time with a large file: kernels buffer up to 4 MB of it, and report
    // no progress until a third of that has been read.
    connectionTimeout: 5 * 60_000,
    requestTimeout: 15 * 60_000,
    http: {
      IncomingMessage: UpgradableRequest,
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: 10_000,
      connectionsCheckingInterval: 5_000,
      requireHostHeader: false, // checked below: Node's own refusal has neither body nor request id
    },
    // The router would answer `*` itself, without the headers of every other response.
    rewriteUrl: ({ url = '/' }) => (url === '*' ? '/*' : url),
    multipart: false,
    frameworkErrors: refuseUnroutable(logger, headers),
    clientErrorHandler: refuseMalformedRequest(logger, lingering),
  });
  const fastify = adapter.getInstance();
  fastify.server.maxConnections = MAX_CONNECTIONS;
  if (options.hasLimits && !options.trustProxy)
    limitConnections(fastify.server, MAX_CONNECTIONS - CONNECTIONS_OF_BURST);
  if (options.trustProxy) fastify.server.prependListener('request', onlyClientAddress);
  limitPipelining(fastify.server);
  inFlight.watch(fastify);
  inFlight.waiting.makeRoomFor(options.maxFileBytes);
  inFlight.onEnd((request, reply, end) => logRequest(logger, request, reply, end));
  fastify.addHook('onRequest', ({ id, ip }, _reply, done) =>
    requestScope.run({ id, network: networkKey(ip) }, done),
  );
  leaveBodiesUnread(fastify);
  const isUnmet = unmetExpectations(fastify);
  fastify.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers).header('x-request-id', request.id);
    forgetUnreadableContentType(request.raw);
    if (isUnmet(request.raw)) done(new ExpectationFailed('the expectation cannot be met'));
    else done(isHostless(request.raw) ? new BadRequest('a Host header is required') : undefined);
  });
  fastify.addHook('onResponse', (request, _reply, done) => {
    if (!request.raw.complete && !request.raw.destroyed) lingering.over(request);
    done();
  });
  return adapter;
}

/** Fastify would parse before the guards run, and its limit does not apply to streams: routes read their own bodies. */
function leaveBodiesUnread(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
}

/** Logs no status if the connection ended before one was sent. Successful health checks are logged at debug level. */
function logRequest(logger: Logger, request: FastifyRequest, reply: FastifyReply, end: RequestEnd): void {
  const { id: requestId } = request;
  const { ip } = end;
  const status = reply.raw.headersSent ? reply.statusCode : undefined;
  const ms = Math.round(end.ms * 10) / 10;
  const brokenOff = end.isAnswered ? undefined : true;
  const err = faultOf(request);
  const isHealthy = isHealth(request.url) && end.isAnswered && reply.statusCode < 400;
  logger[err ? 'error' : isHealthy ? 'debug' : 'info'](
    { requestId, req: request, status, ms, brokenOff, err, ip },
    'request',
  );
}

/** For `request.ip`: the framework takes the last entry literally, with its port, even if it is not an address. */
function onlyClientAddress(request: IncomingMessage): void {
  request.headers['x-forwarded-for'] = clientAddress(request, true);
}

/** The framework would refuse the request before authentication (401); no route reads this header. */
function forgetUnreadableContentType({ headers }: IncomingMessage): void {
  if (!MEDIA_TYPE.test(headers['content-type'] ?? '')) delete headers['content-type'];
}

function isHostless({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host === undefined && httpVersion !== '1.0';
}

/**
 * Detects requests with an `Expect` other than 100-continue. Node would refuse them without a body, a request id or a log
 * line, so they are passed on as ordinary requests.
 */
function unmetExpectations({ server }: FastifyInstance): (request: IncomingMessage) => boolean {
  const unmet = new WeakSet<IncomingMessage>();
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
    unmet.add(request);
    response.setHeader('connection', 'close'); // the body may never arrive, so the start of the next request is unknown
    server.emit('request', request, response);
  });
  return (request) => unmet.has(request);
}

/** Refuses URLs that the router cannot parse: they reach no hook and no filter. */
function refuseUnroutable(logger: Logger, headers: Readonly<Record<string, string>>) {
  return (error: { statusCode?: number }, request: FastifyRequest, reply: FastifyReply): void => {
    const { id: requestId, method, ip } = request;
    const status = error.statusCode ?? 400;
    void reply
      .headers({ ...headers, 'x-request-id': requestId })
      .status(status)
      .send({ error: messageFor(status) });
    logger.info({ requestId, req: { method, url: UNREADABLE }, status, ip }, 'request');
  };
}

/** Malformed HTTP never reaches the router; it still gets a flat error response and a log line. */
function refuseMalformedRequest(logger: Logger, lingering: LingeringClose) {
  return (error: Error & { code?: string }, socket: Socket): void => {
    if (lingering.has(socket) || !socket.writable) socket.destroy(); // it has been answered, and would stay open forever
    if (error.code === 'ECONNRESET' || !socket.writable) return;
    const requestId = randomUUID();
    const status = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 }[error.code ?? ''] ?? 400;
    const body = JSON.stringify({ error: status === 408 ? 'the request took too long' : messageFor(status) });
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n` +
        `X-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n${body}`,
    );
    logger.info({ requestId, status, ip: socket.remoteAddress, code: error.code }, 'request');
  };
}

const reflector = new Reflector();

/** The metadata that a decorator has set on the handler of a request, or else on its controller. */
export const declared = (context: ExecutionContext, key: string): unknown =>
  reflector.getAllAndOverride<unknown>(key, [context.getHandler(), context.getClass()]);

/** 400 for a query that is not UTF-8, after all checks of the client. The router itself refuses such a path. */
@Injectable()
export class QueryTextGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { url } = context.switchToHttp().getRequest<FastifyRequest>();
    const start = url.indexOf('?');
    if (start >= 0 && !isEncodedUtf8(url.slice(start + 1))) throw new BadRequest('the query is not UTF-8');
    return true;
  }
}

/** Maps the failure of a write whose workspace was purged after it was looked up to 404; returns any other error unchanged. */
export const notFoundIfPurged = (error: unknown): unknown =>
  isOfGoneWorkspace(error) ? new NotFound('workspace not found') : error;
