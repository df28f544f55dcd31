// Starts S3 servers for the tests of a run, when they ask. It lives in jest's own process: workers come and go.
// A connection says "shared" or "own" and gets one line of JSON, { endpoint, accessKey, secretKey } or { error }.
// The shared server is one for the whole run. One's own lasts as long as the connection, which goes on as its
// standard input and output; see scripts/s3-server.sh.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testServers } from './unpacked-servers.mjs';

const SCRIPT = join(import.meta.dirname, '..', '..', 'scripts', 's3-server.sh');
const PORTS = 10;
const ATTEMPTS = 3;

export async function startBroker() {
  const home = await mkdtemp(join(tmpdir(), 'sync-s3-'));
  let shared;
  const serve = async (socket) => {
    socket.on('error', () => undefined);
    const [wish] = await once(socket, 'data');
    const isShared = String(wish).trim() === 'shared';
    try {
      const server = isShared ? await (shared ??= startServer(home)) : await startServer(home);
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

async function startServer(home) {
  if (!testServers.isInstalled) throw new Error('it is not installed: run scripts/test-servers.sh');
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(home);
    } catch (error) {
      if (attempt === ATTEMPTS) throw error; // else another program may have taken a port
    }
  }
}

async function startOnce(home) {
  const port = await freePorts();
  const directory = await mkdtemp(join(home, 's'));
  const [accessKey, secretKey] = ['test-access', 'test-secret-0123456789'];
  const child = spawn('bash', [SCRIPT, directory, String(port), accessKey, secretKey], {
    env: { ...process.env, ...testServers.environment },
  });
  let errors = '';
  child.stderr.on('data', (chunk) => (errors += String(chunk)));
  child.stdin.on('error', () => undefined);
  const ended = once(child, 'exit');
  const [first] = await Promise.race([once(child.stdout, 'data'), ended]);
  if (String(first).trim() !== 'ready') throw new Error(`it did not start: ${errors}`);
  const stop = async () => {
    child.stdin.end();
    await ended;
  };
  return { child, stop, address: { endpoint: `http://127.0.0.1:${port}`, accessKey, secretKey } };
}

/** The first of ten free ports below those that the system gives to clients. */
async function freePorts() {
  for (;;) {
    const first = 20_000 + PORTS * Math.floor(Math.random() * 1_000);
    const free = await Promise.all(Array.from({ length: PORTS }, (_, index) => isFree(first + index)));
    if (free.every(Boolean)) return first;
  }
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
