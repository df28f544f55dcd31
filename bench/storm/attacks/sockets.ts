import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { type Attack, holding, paced, type Scene, ticking } from './attack.js';
import { inTurn } from '../turns.js';

const [TEXT, PING, PONG, CONTINUATION] = [0x1, 0x9, 0xa, 0x0];
const FIN = 0x80;

/** Sockets that say hello and are never read, while the service repeatedly sends them 4 MiB of changes. */
const deafSockets: Attack = {
  name: 'deaf-sockets',
  by: 'account',
  run: async (scene) => {
    const { workspaceId, files } = scene.possessions.wide;
    const deaf = holding(scene, { role: 'hostile', count: 300, opensPerSecond: 5 }, (socket, n, headers) => {
      upgrade(scene, socket, headers, workspaceId);
      const hello = JSON.stringify({ type: 'hello', cursor: 0, deviceId: `deaf-${n % 20}` });
      socket.write(frame(TEXT | FIN, Buffer.from(hello)));
    });
    const peer = scene.peer('hostile', 0);
    const pushing = paced(scene, { perSecond: 0.3, atOnce: 1 }, async (n) => {
      if ((n + 1) * 1_000 > files) return;
      const changes = Array.from({ length: 1_000 }, (_, i) => ({
        encryptedPath: String(n * 1_000 + i + 1).padStart(4_096, 'w'),
        action: 'delete',
      }));
      const push = { deviceId: 'pusher', baseCursor: files + n * 1_000, changes };
      const path = `/api/v1/workspaces/${workspaceId}/sync/push`;
      scene.count(`push ${(await peer.sendJson('POST', path, push, { token: scene.token })).status}`);
    });
    await Promise.all([deaf, pushing]);
  },
};

/** Sockets that send unsolicited pongs, pings and one-byte frames, and read nothing. */
const floods: Attack = {
  name: 'floods',
  by: 'account',
  run: async (scene) => {
    const flooding = new Map<Socket, Buffer>();
    const payload = Buffer.alloc(100, 'x');
    const batches = [
      frame(PONG | FIN, payload),
      frame(PING | FIN, payload),
      Buffer.concat([
        frame(TEXT, Buffer.from('{')),
        ...Array<Buffer>(60).fill(frame(CONTINUATION, Buffer.from(' '))),
        frame(CONTINUATION | FIN, Buffer.from('}')),
      ]),
    ].map((bytes) => Buffer.concat(Array<Buffer>(Math.ceil(20_000 / bytes.length)).fill(bytes)));
    const opening = holding(
      scene,
      { role: 'hostile', count: 15, opensPerSecond: 3 },
      (socket, n, headers) => {
        upgrade(scene, socket, headers, scene.possessions.wide.workspaceId);
        flooding.set(socket, inTurn(batches, n));
        socket.once('close', () => flooding.delete(socket));
      },
    );
    const writing = ticking(scene.signal, () => {
      for (const [socket, batch] of flooding)
        if (!socket.connecting && !socket.writableNeedDrain) socket.write(batch);
    });
    await Promise.all([opening, writing]);
  },
};

/** Sockets that never say hello. */
const muteSockets: Attack = {
  name: 'mute-sockets',
  by: 'account',
  run: (scene) =>
    holding(scene, { role: 'hostile', count: 200, opensPerSecond: 5 }, (socket, n, headers) => {
      const { many } = scene.possessions;
      upgrade(scene, socket, headers, inTurn(many, n));
    }),
};

function upgrade({ token }: Scene, socket: Socket, headers: string, workspaceId: string): void {
  socket.write(
    `GET /api/v1/workspaces/${workspaceId}/ws?token=${token} HTTP/1.1\r\n${headers}Connection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
  );
}

/** A client's frame, masked with zeros, which leaves the payload unchanged. @param payload up to 65,535 bytes */
function frame(head: number, payload: Buffer): Buffer {
  const { length } = payload;
  const size = length < 126 ? [0x80 | length] : [0x80 | 126, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([head, ...size, 0, 0, 0, 0]), payload]);
}

export const SOCKETS: readonly Attack[] = [deafSockets, floods, muteSockets];
