import { Controller, Get } from '@nestjs/common';
import { type OnGatewayConnection, WebSocketGateway } from '@nestjs/websockets';
import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { OwnedWorkspace, Scopes } from '../../access/index.js';
import { Documented } from '../../platform/api-docs/index.js';
import { Clock } from '../../platform/clock.js';
import { NotFound, UpgradeRequired } from '../../platform/http/index.js';
import { Log } from '../../platform/log.js';
import { Devices } from '../devices/index.js';
import { Connections } from './connections.js';
import { type ClientMessage, InvalidMessage, parseMessage } from './messages.js';
import { Rooms } from './rooms.js';
import { type Admission, CloseCode, Connection } from './socket-connection.js';

const MAX_FRAME_BYTES = 64 * 1024;

/** The live room of a workspace, from the socket side. docs/reference/events.md specifies the frames. */
@WebSocketGateway({
  path: '/api/v1/workspaces/:id/ws',
  maxPayload: MAX_FRAME_BYTES,
  // Tiny fragments use far more memory than their bytes.
  maxFragments: 64,
  maxBufferedChunks: 4096,
  // Process one frame per event loop turn, with other work in between: a single packet can hold ten thousand frames.
  allowSynchronousEvents: false,
  // Ciphertext does not compress, and a compressor per socket costs more memory than everything else together.
  perMessageDeflate: false,
})
export class RealtimeGateway implements OnGatewayConnection {
  constructor(
    private readonly connections: Connections,
    private readonly rooms: Rooms,
    private readonly devices: Devices,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /** @param transport the stream that `socket` itself writes to */
  handleConnection(socket: WebSocket, admission: Admission, transport: Duplex): void {
    const now = this.clock.elapsed();
    const connection = new Connection(socket, transport, admission, now, this.connections.sent);
    this.connections.add(connection);
    socket.on('ping', () => this.hear(connection));
    socket.on('pong', () => this.hear(connection, true));
    socket.on('message', (data, isBinary) => {
      if (this.hear(connection)) this.receive(connection, data, isBinary);
    });
    socket.once('error', () => connection.cutSoon()); // ws has closed it with a protocol close code
    socket.once('close', () => {
      this.connections.remove(connection);
      void this.log.bestEffort('remove a socket from its room', () => this.rooms.leave(connection));
    });
  }

  /** Counts a frame. Returns false when it must be ignored: the connection is closed, or the frame exceeds the rate limit. */
  private hear(connection: Connection, isPong = false): boolean {
    const now = this.clock.elapsed();
    connection.lastHeard = now;
    if (!connection.isOpen) return false;
    if (isPong ? connection.mayReceivePong(now) : connection.mayReceive(now)) return true;
    connection.sendError('rate_limited', 'more than 30 messages in 10 seconds');
    connection.shut(CloseCode.rateLimited);
    return false;
  }

  private receive(connection: Connection, data: RawData, isBinary: boolean): void {
    try {
      if (isBinary) throw new InvalidMessage('a message must be text');
      this.answer(connection, parseMessage((data as Buffer).toString('utf8')));
    } catch (error) {
      if (!(error instanceof InvalidMessage)) throw error;
      connection.sendError('invalid_message', error.message);
    }
  }

  private answer(connection: Connection, message: ClientMessage): void {
    if (message.type === 'ping') {
      connection.send({ type: 'pong' });
      return;
    }
    const { deviceId } = message;
    if (connection.deviceId !== undefined && connection.deviceId !== deviceId) {
      throw new InvalidMessage('hello was already sent with another deviceId');
    }
    void this.welcome(connection, deviceId);
  }

  private async welcome(connection: Connection, deviceId: string): Promise<void> {
    try {
      if (connection.deviceId === deviceId) {
        await this.rooms.get(connection.workspaceId)?.welcome(connection);
        return;
      }
      connection.deviceId = deviceId;
      void this.devices.seen(connection.principal.userId, deviceId);
      await this.rooms.join(connection, deviceId);
    } catch (err) {
      if (err instanceof NotFound) {
        connection.sendError('workspace_not_found', 'the workspace was deleted');
        connection.close(CloseCode.workspaceNotFound);
        return;
      }
      this.log.warn({ err }, 'could not add a socket to its room');
      connection.sendError('unavailable', 'the service is temporarily unavailable');
      connection.close(CloseCode.tryAgainLater);
    }
  }
}

const UPGRADE_DOCS = {
  tag: 'Live room',
  operations: {
    get: {
      id: 'liveRoom.open',
      summary: 'Open the live room of a workspace (WebSocket)',
      description:
        'The request is a WebSocket upgrade. The bearer token is in the Authorization header, or in the query, because ' +
        'browsers cannot set headers here; where there are both, the header counts. Frames are JSON texts of at most 64 KiB. The client sends `hello` with `cursor` and `deviceId`, and ' +
        '`ping`. The service sends `welcome`, `changes`, `assets-changed`, `device_connected`, ' +
        '`device_disconnected`, `pong` and `error`. A refusal is an HTTP answer before the upgrade.',
      query: {
        token: { description: 'A JWT or a personal access token, instead of the Authorization header.' },
      },
      headers: { Upgrade: { description: '`websocket`' } },
      answers: {
        101: { description: 'the WebSocket is open', headers: { Upgrade: '`websocket`' } },
        426: 'the request does not ask for an upgrade',
      },
    },
  },
} as const;

/** Answers plain HTTP requests to the live room's URL. The upgrade itself never reaches this controller. */
@Controller('api/v1/workspaces/:id/ws')
@Documented(UPGRADE_DOCS)
export class UpgradeController {
  /** Always throws. @throws UpgradeRequired */
  @Get()
  @Scopes('documents:read')
  @OwnedWorkspace()
  get(): never {
    throw new UpgradeRequired();
  }
}
