import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../bench/free-port.js';
import { spawnServer } from './test-servers.js';

export { describeWithTestServers } from './test-servers.js';

const ATTEMPTS = 5;
const START_MS = 60_000;

/** Kills the server when the test process dies without stopping it, which closes its standard input. */
const LEASH = 'redis-server "$@" </dev/null & echo "pid $!"; cat >/dev/null; kill -9 $!; wait';

/** A separate redis-server on a free local port, without persistence. */
export interface TestRedis {
  /** Value for REDIS_URL; stays the same after `restart`. */
  readonly url: string;
  /** Kills it, like a crash: connections are reset, new ones refused. */
  kill(): Promise<void>;
  /** Starts it again, empty, at the same address; kills it first if it still runs. Concurrent calls run in order. */
  restart(): Promise<void>;
  /** Stops it for good. */
  stop(): Promise<void>;
}

/** @throws when redis-server is not installed */
export async function startRedis(): Promise<TestRedis> {
  const dir = await mkdtemp(join(tmpdir(), 'sync-redis-'));
  const [port, first] = await startSomewhere(dir);
  let running: RunningRedis | undefined = first;
  const kill = async (): Promise<void> => {
    await running?.kill();
    running = undefined;
  };
  const restart = async (): Promise<void> => {
    await kill();
    running = await startOn(port, dir);
  };
  let restarted = Promise.resolve();
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    restart: () => (restarted = restarted.then(restart)),
    stop: async () => {
      await kill();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

interface RunningRedis {
  kill(): Promise<void>;
}

/** Retries, because another program may take the free port first. */
async function startSomewhere(dir: string): Promise<[port: number, running: RunningRedis]> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      return [port, await startOn(port, dir)];
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

/** Resolves when it accepts connections. */
async function startOn(port: number, dir: string): Promise<RunningRedis> {
  const settings = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    dir,
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  const leash = spawnServer('bash', ['-c', LEASH, 'leash', ...settings], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const pid = await readiness(leash);
  return {
    kill: async () => {
      const ended = once(leash, 'exit');
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // already ended
      }
      leash.stdin?.end();
      await ended;
    },
  };
}

/** The server's process id, once it is ready. @throws with its output when it is not */
function readiness(leash: ChildProcess): Promise<number> {
  let text = '';
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => leash.stdin?.end(), START_MS);
    leash.once('error', reject);
    leash.once('exit', () => {
      clearTimeout(timer);
      reject(new Error(`redis-server did not start: ${text}`));
    });
    leash.stdout?.on('data', (chunk: Buffer) => {
      text += String(chunk);
      if (/bind: .*in use/.test(text)) leash.stdin?.end();
      if (!text.includes('Ready to accept connections')) return;
      clearTimeout(timer);
      resolve(Number(/pid (\d+)/.exec(text)?.[1]));
    });
  });
}
