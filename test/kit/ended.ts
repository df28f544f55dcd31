import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { enterEnvironment, type ProcessEnv } from './process.js';

/** The result of a program. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Thrown in place of exiting, so that the program stops there. */
class Exit extends Error {
  constructor(readonly code: number) {
    super(`exit ${code}`);
  }
}

let programs = 0;

/** Runs the service's main program in this process until it refuses to start. @throws when it starts */
export async function refusedStart(env: ProcessEnv): Promise<Ended> {
  const ended = await endOf('main.ts', env, []);
  if (ended.code === 0) throw new Error('it started');
  return ended;
}

/** Runs the admin command's main program in this process: starting a process takes a second. */
export function adminEnded(env: ProcessEnv, ...args: string[]): Promise<Ended> {
  return endOf('operations/admin/main.ts', env, args);
}

/**
 * Runs a program from its first line with its own environment, arguments, output and exit code. Shares its imports with the
 * tests, and other process state with concurrent code: run one at a time.
 */
async function endOf(program: string, env: ProcessEnv, args: string[]): Promise<Ended> {
  const { argv, exitCode } = process;
  const leave = enterEnvironment(env);
  const printed = hear();
  const exit = jest.spyOn(process, 'exit').mockImplementation((code) => {
    throw new Exit(Number(code ?? process.exitCode ?? 0));
  });
  process.argv = [...argv.slice(0, 1), program, ...args];
  process.exitCode = undefined;
  try {
    const code = await exitCodeOf(new URL(`../../src/${program}?run=${++programs}`, import.meta.url));
    return { code, ...printed.text };
  } finally {
    Object.assign(process, { argv, exitCode });
    exit.mockRestore();
    printed.stop();
    leave();
  }
}

async function exitCodeOf(program: URL): Promise<number> {
  try {
    await import(program.href);
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (error instanceof Exit) return error.code;
    throw error;
  }
}

/**
 * Captures the output of the console and of the streams until `stop`. Code that took a stream meanwhile keeps ours, so
 * later output of what a program leaves open is discarded.
 */
function hear(): { text: { stdout: string; stderr: string }; stop: () => void } {
  const text = { stdout: '', stderr: '' };
  const sink = (name: keyof typeof text): Writable =>
    new Writable({ write: (chunk, _, done) => done(void (text[name] += String(chunk))) });
  const streams = { stdout: sink('stdout'), stderr: sink('stderr') };
  const before = Object.getOwnPropertyDescriptors(process);
  const { console } = globalThis;
  for (const [name, value] of Object.entries(streams))
    Object.defineProperty(process, name, { value, configurable: true });
  globalThis.console = new Console(streams.stdout, streams.stderr);
  const stop = (): void => {
    globalThis.console = console;
    for (const name of ['stdout', 'stderr'] as const) Object.defineProperty(process, name, before[name]);
  };
  return { text, stop };
}
