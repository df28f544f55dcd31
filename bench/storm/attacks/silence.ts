import type { Socket } from 'node:net';
import type { Accomplice } from '../accomplices.js';
import { mintJwt } from '../person.js';
import { inTurn } from '../turns.js';
import { type Attack, headerLines, holding, type Scene, ticking } from './attack.js';

const MIB = 1024 * 1024;
const ADDRESSES = 10;
const TICKS_BETWEEN_BYTES = 40;
const SLOW_READ_BYTES = 1024;

/** Requests whose bodies of 2,000 bytes arrive at a byte every two seconds: one per slot of an instance, from ten addresses. */
const trickledBodies: Attack = {
  name: 'trickled-bodies',
  by: 'stranger',
  run: (scene) =>
    trickling(scene, { role: 'stranger', count: 2_000, opensPerSecond: 400 }, (_, headers) => {
      const length = headerLines({ 'Content-Type': 'application/json', 'Content-Length': '2000' });
      return `POST /api/auth/sign-out HTTP/1.1\r\n${headers}${length}\r\n{`;
    }),
};

/** The same with request heads. */
const trickledHeads: Attack = {
  name: 'trickled-heads',
  by: 'stranger',
  run: (scene) =>
    trickling(
      scene,
      { role: 'stranger', count: 1_000, opensPerSecond: 200 },
      (_, headers) => `GET /api/v1/workspaces HTTP/1.1\r\n${headers}X-Slow: `,
    ),
};

/** Connections per account, by kind. Each account may have 250 requests in flight; the rest of them are uploads. */
const [UPLOADS, BATCHES, NOTES, ASSETS, DOWNLOADS] = [180, 16, 6, 12, 12];
const KINDS = [
  ...Array<'upload'>(UPLOADS).fill('upload'),
  ...Array<'batch'>(BATCHES).fill('batch'),
  ...Array<'note'>(NOTES).fill('note'),
  ...Array<'asset'>(ASSETS).fill('asset'),
  ...Array<'batch download'>(DOWNLOADS).fill('batch download'),
  'export' as const,
  'export' as const,
];

/** The requests of these kinds are complete, and their answers are read slowly. */
const READ_SLOWLY: ReadonlySet<string> = new Set(['batch download', 'export']);

/**
 * Nine accounts that trickle uploads, batches, large notes and attachments, and slowly read batches and exports, all at
 * once. Each request first sends enough bytes to get its slot.
 */
const trickledAccounts: Attack = {
  name: 'trickled-accounts',
  by: 'account',
  run: async (scene) => {
    const accomplices = await Promise.all(
      scene.accomplices.map(async (its, n) => ({
        ...its,
        token: await mintJwt(scene.peer('hostile', n + 1), its.person),
      })),
    );
    const sockets = {
      role: 'hostile',
      count: accomplices.length * KINDS.length,
      opensPerSecond: 200,
    } as const;
    const kindOf = (n: number): Kind => inTurn(KINDS, Math.floor(n / accomplices.length));
    await trickling(
      scene,
      sockets,
      (n, headers) => beginnings(inTurn(accomplices, n), headers)[kindOf(n)](),
      (n) => READ_SLOWLY.has(kindOf(n)),
    );
  },
};

type Kind = (typeof KINDS)[number];

function beginnings(
  { token, workspaceId, keySession, paths }: Accomplice & { token: string },
  headers: string,
): Readonly<Record<Kind, () => Buffer | string>> {
  const workspace = `/api/v1/workspaces/${workspaceId}`;
  const own = { Authorization: `Bearer ${token}`, 'X-Device-Id': 'slow' };
  const head = (method: string, path: string, more: Record<string, string> = {}): string =>
    `${method} ${path} HTTP/1.1\r\n${headers}${headerLines({ ...own, ...more })}\r\n`;
  const json = 'application/json';
  return {
    upload: () =>
      head('PUT', `${workspace}/files/c2xvdw`, {
        'X-Content-Hash': '0'.repeat(64),
        'Content-Length': '500000',
      }) + 'x'.repeat(1_000),
    batch: () =>
      Buffer.concat([
        Buffer.from(
          head('POST', `${workspace}/files/batch-upload`, {
            'Content-Type': 'application/cbor-seq',
            'Content-Length': '30000000',
          }),
        ),
        // The map of an item with a content of 1 MiB, half of which is sent.
        Buffer.from([0xa1, 0x67, ...Buffer.from('content'), 0x5a, 0, 0x10, 0, 0]),
        Buffer.alloc(MIB / 2),
      ]),
    note: () =>
      head('PUT', `/api/v1/automation/workspaces/${workspaceId}/notes/slow.md`, {
        ...{ 'X-Key-Session': keySession, 'Content-Type': json, 'Content-Length': '8000000' },
      }) + `{"content":"${'x'.repeat(2 * MIB)}`,
    asset: () =>
      head('POST', `/api/assets?workspaceId=${workspaceId}`, {
        ...{ 'Content-Type': json, 'Content-Length': '3000000' },
      }) + `{"encryptedFilename":"c2xvdw","data":"${'A'.repeat(200_000)}`,
    'batch download': () => {
      const body = JSON.stringify({ items: paths.map((encryptedPath) => ({ encryptedPath })) });
      const type = { 'Content-Type': json, 'Content-Length': String(body.length) };
      return head('POST', `${workspace}/files/batch-download`, type) + body;
    },
    export: () => head('GET', '/api/v1/auth/me/export'),
  };
}

/**
 * Opens connections from ten addresses, and writes one byte to each every two seconds. Reads only the first bytes, which
 * have the status. For complete requests, writes nothing more, and reads one KiB every two seconds.
 */
async function trickling(
  scene: Scene,
  sockets: { role: 'stranger' | 'hostile'; count: number; opensPerSecond: number },
  begin: (n: number, headers: string) => Buffer | string,
  isComplete: (n: number) => boolean = () => false,
): Promise<void> {
  /** The number of each connection. */
  const begun = new Map<Socket, number>();
  const opening = holding(scene, { ...sockets, addresses: ADDRESSES }, (socket, n, headers) => {
    socket.write(begin(n, headers));
    begun.set(socket, n);
    socket.once('close', () => begun.delete(socket));
    socket.once('readable', () => {
      const status = /^HTTP\/1\.1 (\d+)/.exec(String(socket.read(16) ?? ''))?.[1];
      if (status !== undefined) scene.count(status);
    });
  });
  let ticks = 0;
  const drops = ticking(scene.signal, () => {
    // Serve some of the sockets on each tick, so that their bytes do not arrive all at once.
    const part = ticks++ % TICKS_BETWEEN_BYTES;
    let place = 0;
    for (const [socket, n] of begun) {
      if (place++ % TICKS_BETWEEN_BYTES !== part) continue;
      if (isComplete(n)) socket.read(Math.min(SLOW_READ_BYTES, socket.readableLength));
      else if (!socket.writableNeedDrain) socket.write('x');
    }
  });
  await Promise.all([opening, drops]);
}

export const SILENCE: readonly Attack[] = [trickledBodies, trickledHeads, trickledAccounts];
