import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { enterEnvironment, type ProcessEnv } from './process.js';

/** What a program leaves behind. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Thrown where the program would exit, so that none of it runs any further. */
class Exit extends Error {
  constructor(readonly code: number) {
    super(`exit ${code}`);
  }
}

let programs = 0;

/** Runs the service's own program in this process until it is refused; one that starts is a failure. */
export async function refusedStart(env: ProcessEnv): Promise<Ended> {
  const ended = await endOf('main.ts', env, []);
  if (ended.code === 0) throw new Error('it started');
  return ended;
}

/** Runs the admin command's own program in this process: a process of its own takes a second. */
export function adminEnded(env: ProcessEnv, ...args: string[]): Promise<Ended> {
  return endOf('admin/main.ts', env, args);
}

/**
 * Runs a program from its first line on, with an environment, arguments, output and exit code as a process has them. It
 * shares with the tests what it imports, and all else with what runs meanwhile: one at a time.
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
 * Takes what is printed, by the console or past it, until told to stop. Who has asked for a stream meanwhile keeps ours:
 * what a program leaves open when it ends, and logs when that is closed, nobody hears.
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
