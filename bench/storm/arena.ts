import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { lockDataDirectory, startEmbeddedPostgres } from '../../src/platform/database/embedded/index.js';
import { runningServerUrl } from '../../src/platform/database/index.js';
import { freePort } from '../free-port.js';
import type { Target } from './network.js';
import { ROOT } from './root.js';

/** Storage quota of an account, small enough for an attack to reach. All other settings that limit clients are the defaults. */
export const QUOTA_BYTES = 96 * 1024 * 1024;

const STARTS_WITHIN_MS = 120_000;
const STOPS_WITHIN_MS = 60_000;

export interface Instance {
  readonly url: string;
  readonly pid: number;
  readonly metricsUrl: string;
  /** How the process ended, with its last lines of output; undefined while it runs. */
  readonly end: () => string | undefined;
}

/** The service as deployed for a storm: its processes and a connection to its database. */
export interface Arena {
  readonly target: Target;
  readonly instances: readonly Instance[];
  readonly database: pg.Client;
  readonly dataDir: string;
  /** Stops everything that the arena has started. */
  close(): Promise<void>;
}

export interface ArenaOptions {
  /** One instance uses the embedded database; two share an external one and are behind a proxy (TRUST_PROXY). */
  readonly instances: 1 | 2;
  /** The external database; by default, the arena starts its own server for two instances. */
  readonly databaseUrl?: string;
  /** Additional settings of the service. */
  readonly env?: Readonly<Record<string, string>>;
}

/** @throws with the output of an instance that does not start */
export async function openArena({ instances: count, databaseUrl, env = {} }: ArenaOptions): Promise<Arena> {
  const home = await mkdtemp(join(tmpdir(), 'sync-storm-'));
  const closing: (() => Promise<unknown>)[] = [() => rm(home, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const step of closing.splice(0).reverse()) await step();
  };
  try {
    const external = count === 1 ? undefined : (databaseUrl ?? (await startDatabase(home, closing)));
    const dataDir = join(home, 'data');
    await mkdir(dataDir);
    const instances: Instance[] = [];
    for (let n = 0; n < count; n++) {
      const origin = instances[0]?.url;
      instances.push(await startInstance({ dataDir, origin, external, isProxied: count > 1, env }, closing));
    }
    const database = new pg.Client(external ?? (await runningServerUrl(dataDir)));
    database.on('error', () => undefined);
    await database.connect();
    closing.push(() => database.end().catch(() => undefined));
    const urls = instances.map(({ url }) => url) as [string, ...string[]];
    return { target: { urls, origin: urls[0], isProxied: count > 1 }, instances, database, dataDir, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startDatabase(home: string, closing: (() => Promise<unknown>)[]): Promise<string> {
  const dataDir = join(home, 'database');
  await mkdir(dataDir);
  await lockDataDirectory(dataDir);
  const server = await startEmbeddedPostgres({ dataDir, log: () => undefined, onFatal: rethrow });
  closing.push(() => server.stop());
  return (await runningServerUrl(dataDir)) ?? '';
}

interface InstanceOptions {
  readonly dataDir: string;
  readonly origin: string | undefined;
  readonly external: string | undefined;
  readonly isProxied: boolean;
  readonly env: Readonly<Record<string, string>>;
}

async function startInstance(
  { dataDir, origin, external, isProxied, env: further }: InstanceOptions,
  closing: (() => Promise<unknown>)[],
): Promise<Instance> {
  const [port, metricsPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const env = {
    ...{ PATH: process.env.PATH, NODE_ENV: 'test', DATA_DIR: dataDir, LOG_LEVEL: 'warn' },
    ...{ PORT: String(port), METRICS_PORT: String(metricsPort), BASE_URL: origin ?? url },
    ...{ PAYMENT_WEBHOOK_SECRET: 'secret-of-the-storm', DOCUMENT_QUOTA_PRO_BYTES: String(QUOTA_BYTES) },
    ...(external === undefined ? {} : { DATABASE_URL: external }),
    ...(isProxied ? { TRUST_PROXY: 'true' } : {}),
    ...further,
  };
  const child = spawn(process.execPath, [...heapFlags(), join(ROOT, 'dist/service/main.js')], {
    cwd: dataDir,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const killWithUs = (): void => void child.kill('SIGTERM');
  process.once('exit', killWithUs); // however this process ends, except by SIGKILL
  closing.push(async () => {
    await ended(child);
    process.off('exit', killWithUs);
  });
  let output = '';
  const read = (chunk: Buffer): void => void (output = (output + String(chunk)).slice(-20_000));
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  const end = (): string | undefined => {
    const by = child.exitCode ?? child.signalCode;
    return by === null ? undefined : `the service ended with ${by}: ${output.slice(-2_000)}`;
  };
  for (const deadline = Date.now() + STARTS_WITHIN_MS; ;) {
    const answer = await fetch(`${url}/health/ready`).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer?.ok) break;
    if (end() !== undefined || Date.now() > deadline) throw new Error(end() ?? `not ready: ${output}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { url, pid: child.pid ?? NaN, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`, end };
}

/** The engine flags that `npm start` uses. */
function heapFlags(): string[] {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: { start: string };
  };
  return scripts.start.split(' ').filter((word) => word.startsWith('--'));
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const forced = setTimeout(() => child.kill('SIGKILL'), STOPS_WITHIN_MS);
  await exit;
  clearTimeout(forced);
}

function rethrow(error: Error): never {
  throw error;
}
