import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import WebSocket from 'ws';
import { send } from './load.js';
import type { Bench } from './prepare.js';

const LISTENERS = [1, 50, 1_000];
const WRITES = 60;
const UPGRADES = 300;
const ROUNDS = 5;

type Latencies = { readonly p50: number; readonly p99: number };

/**
 * From the sending of a write to the message at each listener, and from the writer's answer to it. Beside it a bare
 * server that runs the same statement and then sends the same bytes to every `ws` socket it has.
 */
export async function measureRealtime(bench: Bench): Promise<object[]> {
  const results: object[] = [];
  for (const listeners of LISTENERS) {
    const service = await roundsOf(bench, bench.serviceUrl, listeners);
    const reference = await roundsOf(bench, bench.referenceUrl, listeners);
    const ratio = Math.round((service.fromWrite.p50 / reference.fromWrite.p50) * 100) / 100;
    results.push({
      case: `edit to message, ${listeners} listeners, ms`,
      service,
      reference,
      ratioOfP50: ratio,
    });
  }
  results.push({
    case: `upgrades a second, ${UPGRADES} at once`,
    perSecond: await upgrades(bench, bench.serviceUrl),
    referencePerSecond: await upgrades(bench, bench.referenceUrl),
  });
  return results;
}

interface Measured {
  readonly fromWrite: Latencies;
  readonly fromAnswer: Latencies;
}

async function roundsOf(bench: Bench, url: string, listeners: number): Promise<Measured> {
  const workspaceId = bench.workspaces.at(-1) ?? '';
  const sockets = await inParts(listeners, 100, () => join(bench, url, workspaceId));
  const fromWrite: number[] = [];
  const fromAnswer: number[] = [];
  for (let write = 0; write < WRITES; write++) {
    const arrivals = sockets.map((socket) => once(socket, 'message').then(() => performance.now()));
    const started = performance.now();
    await put(bench, url, workspaceId);
    const answered = performance.now();
    for (const arrived of await Promise.all(arrivals)) {
      fromWrite.push(arrived - started);
      fromAnswer.push(arrived - answered);
    }
  }
  for (const socket of sockets) socket.terminate();
  return { fromWrite: percentiles(fromWrite), fromAnswer: percentiles(fromAnswer) };
}

async function upgrades(bench: Bench, url: string): Promise<number> {
  const rates = [];
  for (let round = 0; round < ROUNDS; round++) {
    const started = performance.now();
    const sockets = await inParts(UPGRADES, UPGRADES, () => connect(bench, url, bench.workspaces[0] ?? ''));
    rates.push(UPGRADES / ((performance.now() - started) / 1000));
    for (const socket of sockets) socket.terminate();
  }
  return Math.round(rates.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0);
}

async function connect({ token }: Bench, url: string, workspaceId: string): Promise<WebSocket> {
  const address = `${url.replace('http', 'ws')}/api/v1/workspaces/${workspaceId}/ws?token=${token}`;
  const socket = new WebSocket(address, { perMessageDeflate: false });
  await once(socket, 'open');
  return socket;
}

/** All listeners are one device: how devices come and go is not what is measured. */
async function join(bench: Bench, url: string, workspaceId: string): Promise<WebSocket> {
  const socket = await connect(bench, url, workspaceId);
  const welcomed = once(socket, 'message');
  socket.send(JSON.stringify({ type: 'hello', cursor: 0, deviceId: 'listener' }));
  await welcomed;
  return socket;
}

async function put({ token }: Bench, url: string, workspaceId: string): Promise<void> {
  const body = randomBytes(4096);
  await send(
    `${url}/api/v1/workspaces/${workspaceId}/files/${randomBytes(24).toString('base64url')}`,
    'PUT',
    {
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/octet-stream',
        'x-content-hash': createHash('sha256').update(body).digest('hex'),
        'x-device-id': 'bench',
      },
      body,
    },
  );
}

async function inParts<T>(total: number, size: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  while (made.length < total) {
    const part = Math.min(size, total - made.length);
    made.push(...(await Promise.all(Array.from({ length: part }, make))));
  }
  return made;
}

function percentiles(values: number[]): Latencies {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 100) / 100;
  return { p50: at(0.5), p99: at(0.99) };
}
