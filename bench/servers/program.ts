import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';

const STARTS_WITHIN_MS = 60_000;
const STOPS_WITHIN_MS = 15_000;

/** A process of this run, stopped by its id. */
export interface Program {
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts a program and resolves when its output matches. @throws with the output when it exits or takes too long */
export async function startProgram(
  [command, ...args]: readonly [string, ...string[]],
  options: SpawnOptions,
  isReady: RegExp,
): Promise<Program> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const ready = new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output = (output + String(chunk)).slice(-10_000);
      if (isReady.test(output)) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${command} exited with ${code}: ${output}`)));
    setTimeout(() => reject(new Error(`${command} is not ready: ${output}`)), STARTS_WITHIN_MS).unref();
  });
  try {
    await ready;
  } catch (error) {
    await ended(child);
    throw error;
  }
  return { pid: child.pid ?? NaN, stop: () => ended(child) };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const forced = setTimeout(() => child.kill('SIGKILL'), STOPS_WITHIN_MS);
  await exit;
  clearTimeout(forced);
}
