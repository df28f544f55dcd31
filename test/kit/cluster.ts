import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DEV_LOGIN_KEY } from './service.js';

const ROOT = join(import.meta.dirname, '..', '..');

/** `npm run cluster`: instances in separate processes behind nginx, with one PostgreSQL and one S3 server. */
export interface TestCluster {
  /** URL of the proxy. */
  readonly url: string;
  readonly instances: readonly { readonly url: string; readonly pid: number }[];
  /** Settings for the admin command. */
  readonly env: Readonly<Record<string, string>>;
  /** Output of the instances and of nginx. */
  readonly output: () => string;
  stop(): Promise<void>;
}

/** @throws with the output when it does not start */
export async function startCluster(env: Record<string, string> = {}): Promise<TestCluster> {
  const child = spawn(process.execPath, [join(ROOT, 'scripts', 'cluster.mjs')], {
    env: { ...process.env, NODE_ENV: 'test', DEV_LOGIN_KEY, LOG_LEVEL: 'info', ...env },
  });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => (output += String(chunk)));
  const line = await firstLine(child);
  if (line === undefined) throw new Error(`the cluster did not start: ${output}`);
  return {
    ...(JSON.parse(line) as Pick<TestCluster, 'url' | 'instances' | 'env'>),
    output: () => output,
    stop: async () => {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

async function firstLine(child: ChildProcess): Promise<string | undefined> {
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => (text += String(chunk)));
  while (!text.includes('\n')) {
    const isOver = await Promise.race([
      once(child.stdout!, 'data').then(() => false),
      once(child, 'exit').then(() => true),
    ]);
    if (isOver) return undefined;
  }
  return text.slice(0, text.indexOf('\n'));
}
