import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type WebSocket, WebSocketServer } from 'ws';
import { type Admission, CloseCode, Connection } from '../../../src/domain/realtime/socket-connection.js';
import { textFrame } from '../../../src/domain/realtime/messages.js';
import { eventually } from '../../kit/index.js';

const UPGRADE = [
  'GET / HTTP/1.1',
  'Host: x',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  '\r\n',
].join('\r\n');
/** Frames of a client are masked, here with zeros. */
const [PING, CLOSE] = [Buffer.of(0x89, 0x80, 0, 0, 0, 0), Buffer.of(0x88, 0x80, 0, 0, 0, 0)];
const [PONG_OF_SERVER, CLOSE_OF_SERVER] = [Buffer.of(0x8a, 0), Buffer.of(0x88, 0)];

describe('frames', () => {
  let server: Server;
  let sockets: WebSocketServer;
  let peer: Socket;
  let received: Buffer;
  let client: WebSocket;
  let transport: Duplex;
  let connection: Connection;

  beforeEach(async () => {
    sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
    server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const upgraded = new Promise<void>((resolve) => {
      server.on('upgrade', (request, socket: Duplex, head) =>
        sockets.handleUpgrade(request, socket, head, (accepted: WebSocket) => {
          [client, transport] = [accepted, socket];
          resolve();
        }),
      );
    });
    peer = connect((server.address() as AddressInfo).port, '127.0.0.1');
    received = Buffer.alloc(0);
    peer.on('data', (chunk) => (received = Buffer.concat([received, chunk])));
    peer.write(UPGRADE);
    await upgraded;
    await eventually(() => expect(received.includes('\r\n\r\n')).toBe(true));
    received = received.subarray(received.indexOf('\r\n\r\n') + 4);
    connection = new Connection(client, transport, {} as Admission, 0, { add: () => undefined });
  });

  afterEach(async () => {
    peer.destroy();
    sockets.close();
    server.close();
    await once(server, 'close');
  });

  it.each([0, 1, 125, 126, 127, 255, 256, 65_535, 65_536, 300_000])(
    'equal those of the library for %i bytes',
    async (length) => {
      const text = 'é'.repeat(length >> 1) + 'x'.repeat(length % 2);
      client.send(text);
      const frame = textFrame(text);
      await eventually(() => expect(received).toHaveLength(frame.length));
      expect(frame.equals(received)).toBe(true);
    },
  );

  it('stay whole and in order between answers of the library while all wait for the peer', async () => {
    peer.pause();
    const message = { type: 'device_connected', deviceId: 'd', deviceName: 'n'.repeat(10_000) } as const;
    const frame = textFrame(JSON.stringify(message));
    const sent: Buffer[] = [];
    const send = (): void => {
      connection.send(message);
      sent.push(frame);
    };
    while (transport.writableLength === 0) {
      send();
      await nextTurn();
    }
    for (let i = 0; i < 8; i++) {
      send();
      peer.write(PING);
      await once(client, 'ping');
      sent.push(PONG_OF_SERVER);
    }
    expect(transport.writableLength).toBeGreaterThan(8 * frame.length);
    peer.resume();
    const all = Buffer.concat(sent);
    await eventually(() => expect(received).toHaveLength(all.length));
    expect(received.equals(all)).toBe(true);
    expect(connection.isOpen).toBe(true);
  });

  it('are not sent after the answer to a close of the peer', async () => {
    const stateWhenSending = new Promise((resolve) => {
      // After the library has read it, and before it ends the connection.
      transport.once('data', () => {
        resolve(client.readyState);
        connection.send({ type: 'pong' });
      });
    });
    peer.write(CLOSE);
    await once(peer, 'end');
    expect(await stateWhenSending).toBe(client.CLOSING);
    expect(received).toEqual(CLOSE_OF_SERVER);
  });

  it('are dropped, with the connection, when the peer stops half-way through its own close', async () => {
    peer.pause();
    while (transport.writableLength === 0) {
      connection.send({ type: 'device_connected', deviceId: 'd', deviceName: 'n'.repeat(10_000) });
      await nextTurn();
    }
    peer.end();
    await eventually(() => expect(client.readyState).toBe(client.CLOSING));
    const timers = jest.spyOn(globalThis, 'setTimeout');
    connection.close(CloseCode.unauthorized);
    connection.close(CloseCode.unauthorized);
    const cuts = timers.mock.calls.filter(([, ms]) => ms === 5_000);
    timers.mockRestore();
    expect(cuts).toHaveLength(1);
    expect(transport.destroyed).toBe(false);
    cuts[0]?.[0]();
    expect(transport.destroyed).toBe(true);
  });

  it('are not sent after our own close', async () => {
    connection.close(CloseCode.tryAgainLater);
    connection.send({ type: 'pong' });
    peer.write(CLOSE);
    await once(peer, 'end');
    expect(received).toEqual(Buffer.concat([Buffer.of(0x88, 2), codeOf(CloseCode.tryAgainLater)]));
  });
});

const codeOf = (code: CloseCode): Buffer => Buffer.of(code >> 8, code & 0xff);
