import { once } from 'node:events';
import WebSocket from 'ws';
import type { Bench } from '../bench.js';
import type { Target } from './target.js';

const AT_ONCE = 50;

/** A second device that listens to a workspace. */
export async function listen(bench: Bench, target: Target, workspaceId: string): Promise<WebSocket> {
  const url = target.url.replace('http', 'ws');
  const socket = new WebSocket(
    target.name === 'service'
      ? `${url}/api/v1/workspaces/${workspaceId}/ws?token=${await (await bench.account()).keptToken()}`
      : `${url}/${workspaceId}`,
    { perMessageDeflate: false },
  );
  await once(socket, 'open');
  const welcomed = once(socket, 'message');
  socket.send(JSON.stringify({ type: 'hello', cursor: 0, deviceId: 'listener' }));
  await welcomed;
  return socket;
}

/** All sockets belong to one device, because presence is not measured. */
export async function listeners(
  bench: Bench,
  target: Target,
  workspaceId: string,
  count: number,
): Promise<WebSocket[]> {
  const sockets: WebSocket[] = [];
  while (sockets.length < count) {
    const part = Array.from({ length: Math.min(AT_ONCE, count - sockets.length) }, () =>
      listen(bench, target, workspaceId),
    );
    sockets.push(...(await Promise.all(part)));
  }
  return sockets;
}

/** Terminates the sockets and waits until they are closed. */
export async function hangUp(sockets: readonly WebSocket[]): Promise<void> {
  await Promise.all(
    sockets.map(async (socket) => {
      const closed = once(socket, 'close');
      socket.terminate();
      await closed;
    }),
  );
}
