import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { once } from 'node:events';
import type { Owner } from '../../config/index.js';

/** Search path for sh, id, flock and setpriv: children get this PATH and nothing else from this process's environment. */
export const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const KEPT_BYTES = String(1024 * 1024);

/**
 * Returns the memory of a large statement to the system. By default, glibc keeps ever larger blocks once one was freed: up to 10
 * MiB more per connection after minutes of load. Smaller blocks are kept: allocating from the system for each batch of uploads or
 * large page costs PostgreSQL up to a fifth more.
 */
const GIVES_BACK_MEMORY = { MALLOC_MMAP_THRESHOLD_: KEPT_BYTES, MALLOC_TRIM_THRESHOLD_: KEPT_BYTES };

/** The user that PostgreSQL runs as. */
export type Account = Owner;

/**
 * The capability that a child of root keeps when it switches to its account, to pass directories closed to that account. Both
 * are less than root: the first only reads, the second also executes files that are closed to others.
 */
export type Capability = 'dac_read_search' | 'dac_override';

export interface LaunchOptions {
  /** Undefined: as this process. */
  readonly account?: Account | undefined;
  readonly capability?: Capability | undefined;
  readonly environment: Readonly<Record<string, string>>;
}

/** Starts a PostgreSQL program as its account. The options are those of spawn for input, output and session. */
export function launch(
  { account, capability, environment }: LaunchOptions,
  [program, ...args]: readonly [string, ...string[]],
  options: Pick<SpawnOptions, 'stdio' | 'detached'>,
): ChildProcess {
  const env = { PATH: SYSTEM_PATH, LC_ALL: 'C', ...GIVES_BACK_MEMORY, ...environment };
  const all = { ...options, env, cwd: '/' };
  if (account === undefined) return spawn(program, args, all);
  if (capability === undefined) return spawn(program, args, { ...all, uid: account.uid, gid: account.gid });
  return spawn('setpriv', [...privileges(account, capability), '--', program, ...args], all);
}

function privileges({ uid, gid }: Account, capability: Capability): string[] {
  return [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    // PostgreSQL calls access(2) to check that it may execute its own files; without this bit, access(2) ignores capabilities.
    '--securebits=+no_setuid_fixup',
    `--bounding-set=-all,+${capability}`,
    `--inh-caps=-all,+${capability}`,
    `--ambient-caps=-all,+${capability}`,
  ];
}

export interface ProcessResult {
  /** Null when a signal ended it. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Waits for a child with piped output.
 * @throws when it could not be started
 */
export async function waitForExit(child: ChildProcess, input = ''): Promise<ProcessResult> {
  child.stdin?.on('error', () => undefined); // it may exit before reading; its status shows that
  child.stdin?.end(input);
  const output = Promise.all([read(child.stdout), read(child.stderr)]);
  const [status] = (await once(child, 'close')) as [number | null];
  const [stdout, stderr] = await output;
  return { status, stdout, stderr };
}

async function read(stream: Readable | null): Promise<string> {
  return stream === null ? '' : await text(stream);
}
