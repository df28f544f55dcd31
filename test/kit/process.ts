import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { NPM } from '../../bench/npm.js';
import { HEAP_FLAGS, ROOT } from './deployment.js';
import { BASE_URL, DEV_LOGIN_KEY } from './service.js';

/** Programs, relative to the top of the tree: the service and its admin command. */
export const SERVICE = 'dist/service/main.js';
export const ADMIN = 'dist/service/admin.js';

/** The compiled service in a separate process. */
export interface ServiceProcess {
  readonly child: ChildProcess;
  readonly url: string;
  /** All of stdout and stderr so far. */
  readonly output: () => string;
  /** @throws with its output when the process has ended */
  readonly expectAlive: () => void;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export type ProcessEnv = Record<string, string>;

export function environment(env: ProcessEnv): ProcessEnv {
  return {
    PATH: process.env.PATH ?? '',
    NODE_ENV: 'test',
    PORT: '0',
    BASE_URL,
    DEV_LOGIN_KEY,
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'warn',
    ...env,
  };
}

/** Sets the environment of this process. @returns a function that restores the previous one */
export function enterEnvironment(env: ProcessEnv): () => void {
  const before = { ...process.env };
  Object.assign(process.env, environment(env));
  return () => {
    for (const name of Object.keys(process.env))
      if (!(name in before)) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, before);
  };
}

const commandOf = (file: string, ...flags: string[]): readonly string[] => [
  process.execPath,
  ...flags,
  ...HEAP_FLAGS,
  join(ROOT, file),
];

/** The command that runs the service like `npm start`. @param flags for the engine, in addition to those of `npm start` */
export const compiled = (...flags: string[]): readonly string[] => commandOf(SERVICE, ...flags);

/** The unbundled modules: for a heap snapshot, V8 looks up the line of each function from the top of its file. */
export const unbundled = commandOf('dist/src/main.js');

/** `npm start`; `child` is then npm. */
export const NPM_START: readonly string[] = [...NPM, 'start', '--prefix', ROOT];

/** Starts the service and resolves when it listens. @throws with its output when it ends first */
export async function startProcess(env: ProcessEnv, command = compiled()): Promise<ServiceProcess> {
  const [file = '', ...args] = command;
  const child = spawn(file, args, { cwd: env.DATA_DIR, env: environment(env) });
  let text = '';
  const ended = once(child, 'exit');
  const listening = new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      text += String(chunk);
      const port = /curl http:\/\/\S+?:(\d+)\/health/.exec(text)?.[1];
      if (port) resolve(`http://127.0.0.1:${port}`);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}: ${text}`)));
  });
  const url = await listening;
  return {
    child,
    url,
    output: () => text,
    expectAlive: () => {
      const by = child.exitCode ?? child.signalCode;
      if (by !== null) throw new Error(`the service ended with ${by}: ${text}`);
    },
    end: async (signal) => {
      child.kill(signal);
      const [code, by] = (await ended) as [number | null, NodeJS.Signals | null];
      return { code, signal: by };
    },
  };
}

/** Runs a script of the build, by default the service, and resolves when it has ended. */
export async function runProcess(
  env: ProcessEnv,
  script = SERVICE,
  args: string[] = [],
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [join(ROOT, script), ...args], { env: environment(env) });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += String(chunk)));
  child.stderr.on('data', (chunk: Buffer) => (output += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}
