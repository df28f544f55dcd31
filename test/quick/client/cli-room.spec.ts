import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { Room } from '../../../client/src/cli/watch/room.js';
import { Session } from '../../../client/src/core/index.js';

/** Less than the 30 s that a WebSocket waits for the answer to its close. */
const SOON_MS = 25_000;

/** The Sec-WebSocket-Accept for a key (RFC 6455). */
const acceptOf = (key: string | undefined): string =>
  createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

function frame(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]);
}

describe('the live room of watch', () => {
  it('is left at once when the answer to the close is lost', async () => {
    const server = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const upgraded = new Promise<Duplex>((resolve) =>
      server.on('upgrade', ({ headers }, socket: Duplex) => {
        socket.on('error', () => undefined).resume();
        const head = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
        const accept = `Sec-WebSocket-Accept: ${acceptOf(headers['sec-websocket-key'])}`;
        socket.write([...head, accept, '', ''].join('\r\n'));
        resolve(socket);
      }),
    );
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    let whenConnected = (): void => undefined;
    const connected = new Promise<void>((resolve) => (whenConnected = resolve));
    const room = new Room({
      ...{ session: Session.withAccessToken(url, 'token'), workspaceId: 'w', deviceId: 'd', cursor: () => 0 },
      ...{ onNews: () => undefined, onEnd: () => undefined },
      onConnected: (is) => is && whenConnected(),
    });
    const socket = await upgraded;
    socket.write(frame('{"type":"welcome","cursor":0}'));
    await connected;
    const ended = once(socket, 'end').then(() => 'ended');
    await room.close();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve('still open'), SOON_MS);
    });
    expect(await Promise.race([ended, late])).toBe('ended');
    clearTimeout(timer);
    socket.destroy();
    server.close();
  });
});
