// Starts S3 servers for the tests of a run on request. Runs in jest's own process, because workers come and go. A
// connection sends "shared" or "own" and gets one line of JSON, { endpoint, accessKey, secretKey } or { error }. The shared
// server is one for the whole run. An own server lasts as long as the connection, which then becomes its standard input and
// output; see scripts/s3-server.sh.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startS3Server } from '../../scripts/s3-server.mjs';

export async function startBroker() {
  const home = await mkdtemp(join(tmpdir(), 'sync-s3-'));
  let shared;
  const serve = async (socket) => {
    socket.on('error', () => undefined);
    const [wish] = await once(socket, 'data');
    const isShared = String(wish).trim() === 'shared';
    try {
      const server = isShared ? await (shared ??= startS3Server(home)) : await startS3Server(home);
      socket.write(`${JSON.stringify(server.address)}\n`);
      if (isShared) return socket.end();
      socket.pipe(server.child.stdin);
      server.child.stdout.pipe(socket);
    } catch (error) {
      socket.end(`${JSON.stringify({ error: error.message })}\n`);
    }
  };
  const broker = createServer((socket) => void serve(socket)).listen(join(home, 'broker'));
  await once(broker, 'listening');
  return {
    path: join(home, 'broker'),
    stop: async () => {
      broker.close();
      await (await shared?.catch(() => undefined))?.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}
