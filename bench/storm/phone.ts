// A well-behaved phone on a slow and lossy link during a storm.
import { createHash, randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { headerLines } from './attacks/attack.js';
import { sourceOf, type Target, urlFor } from './network.js';
import { json, Peer } from './peer.js';
import { mintJwt, signUp } from './person.js';
import { sha256 } from './user.js';

/** The link carries 8 kB/s in each direction: a piece of 4,800 bytes every 600 ms. */
const [BYTES_PER_TICK, TICK_MS] = [4_800, 600];
/** Once a minute nothing arrives for ten seconds. */
const [MINUTE_TICKS, STALLED_TICKS] = [100, 17];
const BYTES = 5_000_000;

/** Durations in seconds. */
export interface PhoneTrip {
  readonly upload: number;
  readonly download: number;
}

/**
 * Uploads 5 MB and, on another connection, downloads 5 MB that were uploaded before. Kernels buffer some hundred kB of the
 * download.
 * @throws when a connection breaks, or an answer is not the expected one
 */
export async function travel(target: Target): Promise<PhoneTrip> {
  const person = await signUp(target, 'phone', 0);
  const peer = new Peer(target, 'phone', 0);
  const token = await mintJwt(peer, person);
  const { id } = json<{ id: string }>(
    await peer.sendJson('POST', '/api/v1/workspaces', { name: 'phone' }, { token }),
  );
  const files = `/api/v1/workspaces/${id}/files`;
  const stored = randomBytes(BYTES);
  json(await peer.send('PUT', `${files}/c3RvcmVk`, { token, headers: uploadHeaders(stored), body: stored }));

  const timed = async (work: Promise<void>): Promise<number> => {
    const began = performance.now();
    await work;
    return (performance.now() - began) / 1000;
  };
  const sent = randomBytes(BYTES);
  const [upload, download] = await Promise.all([
    timed(put(target, `${files}/c2VudA`, token, sent)),
    timed(get(target, `${files}/c3RvcmVk`, token, sha256(stored))),
  ]);
  const answer = await peer.send('GET', `${files}/c2VudA`, { token: await mintJwt(peer, person) });
  peer.close();
  if (answer.status !== 200 || !answer.body.equals(sent))
    throw new Error(`the upload of the phone is not what it sent: ${answer.status}`);
  return { upload, download };
}

const uploadHeaders = (body: Buffer): Record<string, string> => ({
  'X-Content-Hash': sha256(body),
  'X-Device-Id': 'phone',
});

async function put(target: Target, path: string, token: string, body: Buffer): Promise<void> {
  const length = { 'Content-Length': String(body.length) };
  const socket = begin(target, 'PUT', path, { token, ...uploadHeaders(body), ...length });
  const closed = closeOf(socket);
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += String(chunk)));
  let sent = 0;
  for (let tick = 0; sent < body.length && !socket.destroyed && answer === ''; tick++) {
    await pause(TICK_MS);
    if (tick % MINUTE_TICKS >= STALLED_TICKS) socket.write(body.subarray(sent, (sent += BYTES_PER_TICK)));
  }
  await closed;
  if (!answer.startsWith('HTTP/1.1 201'))
    throw new Error(`the phone's upload after ${sent} bytes: ${answer.slice(0, 300) || 'no answer'}`);
}

async function get(target: Target, path: string, token: string, hash: string): Promise<void> {
  const socket = begin(target, 'GET', path, { token });
  const closed = closeOf(socket);
  const digest = createHash('sha256');
  let head: string | undefined;
  let received = 0;
  for (let tick = 0; !socket.destroyed; tick++) {
    await pause(TICK_MS);
    if (tick % MINUTE_TICKS < STALLED_TICKS) continue;
    let bytes = socket.read(Math.min(BYTES_PER_TICK, socket.readableLength)) as Buffer | null;
    if (bytes && head === undefined) {
      const end = bytes.indexOf('\r\n\r\n') + 4;
      head = String(bytes.subarray(0, end));
      bytes = bytes.subarray(end);
    }
    if (!bytes) continue;
    digest.update(bytes);
    received += bytes.length;
  }
  await closed;
  if (!head?.startsWith('HTTP/1.1 200') || digest.digest('hex') !== hash)
    throw new Error(`the phone's download after ${received} bytes: ${head?.slice(0, 300) ?? 'no answer'}`);
}

function begin(
  target: Target,
  method: string,
  path: string,
  { token, ...more }: { readonly token: string } & Readonly<Record<string, string>>,
): Socket {
  const { localAddress, headers } = sourceOf(target, 'phone', 0);
  const { hostname, port } = new URL(urlFor(target, 0));
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  const own = { Host: 'storm', Authorization: `Bearer ${token}`, Connection: 'close' };
  socket.write(`${method} ${path} HTTP/1.1\r\n${headerLines({ ...headers, ...own, ...more })}\r\n`);
  return socket;
}

const closeOf = (socket: Socket): Promise<void> =>
  new Promise((resolve) => socket.on('error', () => undefined).once('close', () => resolve()));
