import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';

export interface AdminResult {
  /** Null when a signal has ended it, or it could not be started. */
  readonly code: number | null;
  /** The last line of stdout. */
  readonly output: string;
  /** The last line of stderr. */
  readonly fault: string;
  readonly wasStopped: boolean;
}

/** The admin command: beside the bundle, in the compiler's output, and in the build that tests of the sources use. */
const PLACES = ['./admin.js', '../admin/main.js', '../../../dist/service/admin.js'];

const FLAGS = ['--max-old-space-size=256', '--max-semi-space-size=8'];
const MOST_TEXT = 4_096;
/** A process that does not end on SIGTERM, such as one that waits for a disk, gets SIGKILL. */
const KILL_AFTER_MS = 5_000;

/** The program of the admin command, for a module at this address. */
export function adminProgramFor(module: string): string {
  const files = PLACES.map((place) => fileURLToPath(new URL(place, module)));
  return files.find((file) => existsSync(file)) ?? '';
}

/** Runs an admin command in a process of its own, with this process's environment and a low priority. */
export async function runAdmin(args: readonly string[], signal: AbortSignal): Promise<AdminResult> {
  const file = adminProgramFor(import.meta.url);
  const child = spawn(process.execPath, [...FLAGS, file, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [output, fault] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (output = (output + String(chunk)).slice(-MOST_TEXT)));
  child.stderr.on('data', (chunk: Buffer) => (fault = (fault + String(chunk)).slice(-MOST_TEXT)));
  const ended = once(child, 'exit');
  lowerPriority(child.pid);
  let killing: NodeJS.Timeout | undefined;
  const end = (): void => {
    child.kill('SIGTERM');
    killing = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
  };
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    const [code] = (await ended) as [number | null];
    return { code, output: lastLine(output), fault: lastLine(fault), wasStopped: signal.aborted };
  } finally {
    clearTimeout(killing);
    signal.removeEventListener('abort', end);
  }
}

/** Not allowed everywhere, and never necessary. */
function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // a sandbox may forbid it
  }
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';
