import type { Socket } from 'node:net';
import { type Attack, headerLines, holding, type Scene, ticking } from './attack.js';
import { inTurn } from '../turns.js';

const [SOCKETS, REQUESTS_EACH, REQUESTS_PER_SECOND] = [80, 3_600, 20_000];
const AT_ONCE = 100;

/** Pipelines tiny requests and never reads the answers: health, no Host, unknown route, no token. */
const pipelining: Attack = {
  name: 'pipelining',
  by: 'stranger',
  run: async (scene) => {
    const left = new Map<Socket, { requests: number; batch: Buffer }>();
    const sockets = holding(
      scene,
      { role: 'stranger', count: SOCKETS, opensPerSecond: 20 },
      (socket, n, headers) => {
        const batch = Buffer.from(inTurn(kinds(headers), n).repeat(AT_ONCE));
        left.set(socket, { requests: REQUESTS_EACH, batch });
        socket.once('close', () => left.delete(socket));
      },
    );
    let allowed = 0;
    const writing = ticking(scene.signal, () => {
      allowed = Math.min(allowed + REQUESTS_PER_SECOND / 20, REQUESTS_PER_SECOND);
      for (const [socket, its] of left) {
        if (allowed < AT_ONCE) return;
        if (socket.connecting || socket.writableNeedDrain || its.requests <= 0) continue;
        socket.write(its.batch);
        its.requests -= AT_ONCE;
        allowed -= AT_ONCE;
        scene.count('requests', AT_ONCE);
        left.delete(socket);
        left.set(socket, its); // moves it to the end, so that the others go first
      }
    });
    await Promise.all([sockets, writing]);
  },
};

const kinds = (headers: string): string[] => [
  `GET /health HTTP/1.1\r\n${headers}\r\n`,
  'GET /health HTTP/1.1\r\n\r\n',
  `GET /nothing HTTP/1.1\r\n${headers}\r\n`,
  `GET /api/v1/workspaces HTTP/1.1\r\n${headers}\r\n`,
];

/** Connections that stay silent, or send one byte a second of a header, a sign-in or a payment event. */
const slow: Attack = {
  name: 'slow',
  by: 'stranger',
  run: (scene) =>
    dripping(scene, 'stranger', 200, (n, headers) =>
      inTurn(
        [
          '',
          `GET /api/v1/workspaces HTTP/1.1\r\n${headers}X-Slow: `,
          `POST /api/auth/sign-in/email HTTP/1.1\r\n${headers}Content-Type: application/json\r\nContent-Length: 400\r\n\r\n{"email":"`,
          `POST /api/v1/webhooks/payment HTTP/1.1\r\n${headers}Content-Type: application/json\r\nContent-Length: 4000\r\n\r\n{"id":"`,
        ],
        n,
      ),
    ),
};

/** Uploads that hardly progress: 1,000 bytes at first, then one byte a second. */
const slowUploads: Attack = {
  name: 'slow-uploads',
  by: 'account',
  run: (scene) =>
    dripping(scene, 'hostile', 100, (n, headers) => {
      const workspaceId = inTurn(scene.possessions.many, n);
      return (
        `PUT /api/v1/workspaces/${workspaceId}/files/c2xvdw HTTP/1.1\r\n${headers}` +
        headerLines({
          Authorization: `Bearer ${scene.token}`,
          'X-Content-Hash': '0'.repeat(64),
          'X-Device-Id': 'slow',
          'Content-Length': '500000',
        }) +
        '\r\n' +
        'x'.repeat(1_000)
      );
    }),
};

async function dripping(
  scene: Scene,
  role: 'stranger' | 'hostile',
  count: number,
  begin: (n: number, headers: string) => string,
): Promise<void> {
  const begun = new Set<Socket>();
  const sockets = holding(scene, { role, count, opensPerSecond: 10 }, (socket, n, headers) => {
    const beginning = begin(n, headers);
    if (beginning === '') return;
    socket.write(beginning);
    begun.add(socket);
    socket.once('close', () => begun.delete(socket));
  });
  let ticks = 0;
  const drops = ticking(scene.signal, () => {
    if (++ticks % 20 === 0) for (const socket of begun) if (!socket.writableNeedDrain) socket.write('x');
  });
  await Promise.all([sockets, drops]);
}

export const UNREAD: readonly Attack[] = [pipelining, slow, slowUploads];
