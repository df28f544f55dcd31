import { type INestApplicationContext, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import { Interval } from '@nestjs/schedule';
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket, WebSocketServer } from 'ws';
import { Clock } from '../../platform/clock.js';
import { BadRequest, errorAnswer, NotFound } from '../../platform/http/index.js';
import { Log } from '../../platform/log.js';
import { Connections } from './connections.js';
import { Presence } from './presence.js';
import { Rooms } from './rooms.js';
import { CloseCode } from './socket-connection.js';
import { UpgradeAuthorizer } from './upgrade-authorizer.js';

/** Decides whether upgrades are accepted at the moment. @throws ApiError, which is sent instead of the 101 */
export type RequireOpen = (request: IncomingMessage) => void;

interface Route {
  readonly pattern: RegExp;
  readonly server: WebSocketServer;
}

/** The route of an upgrade and its parameters. */
interface Destination {
  readonly server: WebSocketServer;
  readonly query: URLSearchParams;
  readonly workspaceId: string;
}

/**
 * Nest's adapter for `ws`, extended by a path parameter and an authorization step before the 101: the original
 * matches paths as fixed strings and accepts everyone. Gateways read the frames themselves, because the guards, pipes
 * and filters of HTTP routes do not fit.
 */
export class SocketAdapter extends WsAdapter {
  private readonly routes: Route[] = [];
  private readonly requestIds = new WeakMap<IncomingMessage, string>();
  private readonly log: Log;
  private readonly authorizer: UpgradeAuthorizer;

  constructor(
    app: INestApplicationContext,
    private readonly requireOpen: RequireOpen,
    private readonly headers: Readonly<Record<string, string>>,
  ) {
    super(app);
    this.log = app.get(Log);
    this.authorizer = app.get(UpgradeAuthorizer, { strict: false });
  }

  override bindMessageHandlers(): void {
    // The gateway reads the frames.
  }

  /** An error in a client's frames concerns that client alone: ws closes the socket with a protocol close code; no log. */
  override bindErrorHandler(server: WebSocketServer): WebSocketServer {
    server.on('connection', (socket: WebSocket) => socket.on('error', () => undefined));
    return server;
  }

  protected override addWsServerToRegistry(server: Record<'path', string>, port: number, path: string): void {
    super.addWsServerToRegistry(server, port, path);
    const pattern = new RegExp(`^${path.replace(/:[A-Za-z]+/, '([^/]+)')}$`);
    const sockets = server as unknown as WebSocketServer;
    // Replaces the default response of ws, which is an HTML page.
    sockets.on('wsClientError', ({ message }, socket, request) =>
      this.refuse(request, socket, new BadRequest(`the upgrade request is malformed: ${message}`)),
    );
    sockets.on('headers', (lines, request) => lines.push(`X-Request-Id: ${this.requestIdOf(request)}`)); // on the 101 response
    this.routes.push({ pattern, server: sockets });
  }

  protected override ensureHttpServerExists(port: number, httpServer?: Server): undefined {
    if (!httpServer || this.httpServersRegistry.has(port)) return;
    this.httpServersRegistry.set(port, httpServer);
    httpServer.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      // Without a listener, a connection error at this point would crash the process.
      socket.on('error', () => socket.destroy());
      void this.upgrade(request, socket, head);
    });
  }

  private async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    try {
      const destination = this.destinationOf(request);
      if (!destination) throw new NotFound('not found');
      const { server, query, workspaceId } = destination;
      this.requireOpen(request);
      const admission = await this.authorizer.admit(request, query, workspaceId);
      if (socket.destroyed) return;
      this.requireOpen(request); // if the kill switch closed the API meanwhile, it closed only the sockets that existed then
      this.authorizer.requireRoom(admission);
      server.handleUpgrade(request, socket, head, (client) => {
        this.note(request, 101);
        server.emit('connection', client, admission, socket);
      });
    } catch (error) {
      this.refuse(request, socket, error);
    }
  }

  /** Returns the same id on every call for a request: in the response and in the log. */
  private requestIdOf(request: IncomingMessage): string {
    const requestId = this.requestIds.get(request) ?? randomUUID();
    this.requestIds.set(request, requestId);
    return requestId;
  }

  /** Undefined for an unknown path. */
  private destinationOf(request: IncomingMessage): Destination | undefined {
    const [path = '', ...query] = (request.url ?? '').split('?');
    for (const { pattern, server } of this.routes) {
      const workspaceId = pattern.exec(path)?.[1];
      if (workspaceId === undefined) continue;
      return { server, query: new URLSearchParams(query.join('?')), workspaceId };
    }
    return undefined;
  }

  private refuse(request: IncomingMessage, socket: Duplex, error: unknown): void {
    const requestId = this.requestIdOf(request);
    const { status, headers, body } = errorAnswer(error, requestId, this.log);
    this.note(request, status);
    if (socket.destroyed) return;
    const text = JSON.stringify(body);
    const lines = Object.entries({
      ...this.headers,
      ...headers,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'x-request-id': requestId,
      connection: 'close',
    }).map(([name, value]) => `${name}: ${value}`);
    socket.once('finish', () => socket.destroy()); // otherwise the other half could stay open forever
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${text}`);
  }

  /** The URL of an unknown path is not logged: it may contain the plaintext of an automation route. */
  private note(request: IncomingMessage, status: number): void {
    const url = this.destinationOf(request) ? request.url : '[unrouted]';
    const req = { method: request.method, url };
    const requestId = this.requestIdOf(request);
    this.log.info({ requestId, req, status, ip: this.authorizer.addressOf(request) }, 'upgrade');
  }
}

const GOODBYE_MS = 2_000;

/**
 * At shutdown, sockets are closed first, with a close code that tells clients to reconnect; requests in progress
 * finish afterwards.
 */
@Injectable()
export class SocketShutdown implements OnModuleDestroy {
  constructor(
    private readonly authorizer: UpgradeAuthorizer,
    private readonly connections: Connections,
    private readonly presence: Presence,
    private readonly log: Log,
  ) {}

  async onModuleDestroy(): Promise<void> {
    this.authorizer.close();
    const deadline = performance.now() + GOODBYE_MS;
    do {
      this.connections.closeWhere(() => true, CloseCode.goingAway); // includes sockets that were being admitted
      await new Promise((resolve) => setTimeout(resolve, 10));
    } while (this.connections.size > 0 && performance.now() < deadline);
    for (const connection of this.connections) connection.cut();
    await this.log.bestEffort('end the lease', () => this.presence.endLease());
  }
}

const BEAT_EVERY_MS = 5_000;
const PING_EVERY_MS = 30_000;
const SILENT_FOR_MS = 60_000;

/**
 * Every 5 s, renews the lease by which other instances know this one and cuts sockets that have been silent. Pings
 * each socket every 30 s.
 */
@Injectable()
export class Heartbeat {
  private lastBeat = 0;

  constructor(
    private readonly connections: Connections,
    private readonly presence: Presence,
    private readonly rooms: Rooms,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  @Interval(BEAT_EVERY_MS)
  async beat(): Promise<void> {
    this.ping(this.clock.elapsed());
    await this.log.bestEffort('renew the lease', () => this.presence.renewLease());
    if (this.presence.takeForgotten()) for (const { devices } of this.rooms.all()) devices.forgetWritten();
    await this.rooms.settleAll();
  }

  /** After a late beat, such as after the process was stopped, frames that peers sent meanwhile are still unread. */
  private ping(now: number): void {
    const isLate = now - this.lastBeat > 3 * BEAT_EVERY_MS;
    this.lastBeat = now;
    for (const connection of this.connections) {
      if (isLate) connection.lastHeard = now;
      if (now - connection.lastHeard >= SILENT_FOR_MS) connection.cut();
      else if (isLate || now - connection.lastPinged >= PING_EVERY_MS) connection.ping(now);
    }
  }
}
