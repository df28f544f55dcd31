import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, readlink, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionTarget, query } from './connection-target.js';
import { type DataDirectory, errorCode } from './data-directory.js';
import { launch, type LaunchOptions } from './launcher.js';
import { levelOf, LOCK_FILE_EXISTS, type Log, readServerLine } from './socket-directory.js';

/** The contents of postmaster.pid while a server runs. */
export interface PidFile {
  readonly pid: number;
  /** False for a server of another cluster: the file was copied together with its directory. */
  readonly isOfThisCluster: boolean;
  readonly port: number;
  readonly socketDirectory: string;
  /** Id of the shared memory segment with which its processes hold the cluster; NaN if there is none. */
  readonly sharedMemory: number;
}

/** @returns undefined when no server has written the file, or one is still writing it */
export async function readSignature({
  cluster,
}: Pick<DataDirectory, 'cluster'>): Promise<PidFile | undefined> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return '';
    throw error;
  });
  const [pid = '', directory = '', , port = '', socketDirectory = '', , memory = ''] = text.split('\n');
  if (!/^\d+$/.test(pid)) return undefined;
  const sharedMemory = Number.parseInt(memory.trim().split(/\s+/)[1] ?? '', 10);
  const isOfThisCluster = await isSameDirectory(directory, cluster);
  return { pid: Number(pid), isOfThisCluster, port: Number(port), socketDirectory, sharedMemory };
}

/**
 * Whether both paths lead to the same directory. A path that does not exist belongs to a directory that was moved or is on
 * another machine.
 */
async function isSameDirectory(path: string, cluster: string): Promise<boolean> {
  if (path === cluster) return true;
  const [one, other] = await Promise.all([path, cluster].map((each) => stat(each).catch(() => undefined)));
  return one !== undefined && one.dev === other?.dev && one.ino === other.ino;
}

/**
 * Stops a server that an earlier run left behind without its guard. Only signals a server that is proven to be ours: it
 * accepts our password and reads, in its own cluster, the very process id that we signal.
 * @returns whether a server was signalled
 */
export async function stopLeftBehind(data: DataDirectory, target: ConnectionTarget): Promise<boolean> {
  const signature = await readSignature(data);
  if (!signature?.isOfThisCluster) return false; // the other server accepts the same password
  const { pid, port, socketDirectory } = signature;
  try {
    const [row] = await query<{ signature: string }>(
      { ...target, host: socketDirectory, port, database: 'postgres' },
      `SELECT pg_read_file('postmaster.pid') AS signature`,
    );
    if (row?.signature.split('\n')[0] !== String(pid)) return false;
    return process.kill(pid, 'SIGINT');
  } catch {
    return false; // it has exited, is stopping, or is not ours
  }
}

/**
 * Immediately stops a server that an earlier run left behind and that does not shut down: such a server accepts no
 * connections, so the kernel must prove that it is ours. Acknowledged writes are kept; the next start recovers them. DANGER:
 * the process id may belong to another process by now. The caller must therefore hold DATA_DIR and have seen the cluster
 * locked, and where processes cannot be inspected (no /proc), nothing is signalled.
 * @returns whether a server was signalled
 */
export async function quitLeftBehind(data: DataDirectory): Promise<boolean> {
  const pid = await runningServerPid(data);
  try {
    return pid !== undefined && process.kill(pid, 'SIGQUIT');
  } catch {
    return false; // it has exited, or belongs to another user
  }
}

/**
 * The process id of a server that, according to the kernel, uses this cluster and not a copy of it; undefined where that
 * cannot be determined.
 */
export async function runningServerPid(data: DataDirectory): Promise<number | undefined> {
  const signature = await readSignature(data);
  if (signature === undefined || process.platform !== 'linux') return undefined;
  return (await ownerOf(signature.pid, data.cluster)) === 'server' ? signature.pid : undefined;
}

/**
 * Removes the files of a dead server that block the next one and that a reused process id or an unreaped zombie makes look
 * alive. DANGER: two servers on one cluster destroy it. The caller must therefore hold the cluster's lock, which excludes all
 * processes of an earlier server, and nothing is removed while a living process or a shared memory segment in use indicates
 * the old server. Where that cannot be inspected (no /proc), nothing is removed, except the postmaster.pid of a server for
 * another directory: its process and its memory say nothing about this one.
 * @returns whose files were removed; undefined when the cluster may still be in use
 */
export async function removeDeadSignature(
  data: DataDirectory,
  socketDirectory: string,
): Promise<'ours' | 'copied' | undefined> {
  const signature = await readSignature(data);
  const holder = signature === undefined ? 'nobody' : await holderOf(signature, data.cluster);
  if (holder === 'server') return undefined;
  if (signature !== undefined) await rm(join(data.cluster, 'postmaster.pid'), { force: true });
  const sockets = (await readdir(socketDirectory)).filter((name) => name.startsWith('.s.PGSQL.'));
  for (const name of sockets) await rm(join(socketDirectory, name), { force: true });
  return holder === 'another' ? 'copied' : 'ours';
}

/** server: the cluster's own server may be alive; another: the file is from a server of another directory; nobody: it is dead. */
async function holderOf(signature: PidFile, cluster: string): Promise<'server' | 'another' | 'nobody'> {
  const { pid, sharedMemory, isOfThisCluster } = signature;
  if (process.platform !== 'linux') return isOfThisCluster ? 'server' : 'another';
  const owner = await ownerOf(pid, cluster);
  if (owner === 'server') return 'server'; // also if its directory was renamed
  if (!isOfThisCluster || (await servesAnother(signature, cluster))) return 'another';
  return owner === 'none' && !(await isAttached(sharedMemory)) ? 'nobody' : 'server';
}

/**
 * Whether the process named in the file runs in another directory with the same postmaster.pid: then the path of this cluster
 * used to be that server's.
 */
async function servesAnother({ pid, sharedMemory }: PidFile, cluster: string): Promise<boolean> {
  const directory = await readlink(`/proc/${pid}/cwd`).catch(() => cluster);
  if (directory === cluster) return false;
  const theirs = await readSignature({ cluster: directory }).catch(() => undefined);
  return theirs?.pid === pid && theirs.sharedMemory === sharedMemory;
}

/** server: a living process of the cluster's server; none: certainly not one; unclear: cannot be determined. */
type ProcessState = 'server' | 'unclear' | 'none';

async function ownerOf(pid: number, cluster: string): Promise<ProcessState> {
  try {
    const status = await readFile(`/proc/${pid}/stat`, 'utf8');
    const [, name, state] = /^\d+ \((.*)\) (\S)/s.exec(status) ?? [];
    if (state === 'Z' || state === 'X') return 'none';
    // Every process of a server has the cluster as its working directory; root in a container may not be able to read that.
    const directory = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
    if (directory !== undefined) return directory === cluster ? 'server' : 'none';
    if (name !== 'postgres') return 'none';
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
    return command.includes(`\0-D\0${cluster}\0`) ? 'server' : 'unclear';
  } catch (error) {
    return errorCode(error) === 'ENOENT' || errorCode(error) === 'ESRCH' ? 'none' : 'unclear';
  }
}

/** Reads the kernel's table of segments: key, id, permissions, size, creator, last user, attached processes. */
async function isAttached(sharedMemory: number): Promise<boolean> {
  if (Number.isNaN(sharedMemory)) return false;
  const table = await readFile('/proc/sysvipc/shm', 'utf8').catch(() => undefined);
  if (table === undefined) return true;
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  return rows.some((row) => row[1] === sharedMemory && (row[6] ?? 0) > 0);
}

/** How long a server may take to shut down cleanly before it is stopped immediately, regardless of who requested the shutdown. */
export const CLEAN_END_WITHIN_MS = 10_000;

/**
 * The parent process of the server. Its guard reads signal names for the server from its input; end of input, which occurs
 * however this process ends, triggers a fast shutdown. Signals to the whole service (Ctrl-C in a terminal, SIGTERM from a
 * service manager) are ignored here: the service drains first and then stops the server itself. Descriptor 3 is the cluster's
 * lock, only for the server and its children. DANGER: if PostgreSQL is asked to shut down while it restarts after the crash of
 * a backend, it waits forever for its checkpointer, which never receives the request. A fast shutdown that takes longer than
 * CLEAN_END_WITHIN_MS therefore becomes an immediate one. The guard checks every second that its server is alive, because it
 * may outlive the server when their parent was killed.
 */
const GUARDED = `
trap '' HUP INT TERM
exec 4<&0
"$@" </dev/null 4<&- &
server=$!
exec 2>/dev/null
{
  while read -r signal; do kill -s "$signal" "$server"; done
  kill -s INT "$server"
  seconds=${CLEAN_END_WITHIN_MS / 1_000}
  while [ "$seconds" -gt 0 ]; do
    sleep 1
    kill -0 "$server" || exit
    seconds=$((seconds - 1))
  done
  kill -s QUIT "$server"
} <&4 3<&- 4<&- &
guard=$!
exec 3<&- 4<&-
wait "$server"
status=$?
kill -s KILL "$guard"
exit "$status"
`;

/** How long the last processes of a crashed server may take to notice. */
const LINGERING_MS = 5_000;

export interface ServerExit {
  /** The server's exit status, 128 or more for a signal; null when its parent was killed. */
  readonly status: number | null;
  /** Whether it failed to start because another server, or the remains of one, holds the data directory. */
  readonly isRefused: boolean;
  /** The last fault that it reported; empty if none. */
  readonly lastFault: string;
}

/** One run of the server, from start to exit. */
export class Postmaster {
  /** Settles when the run is over: the server has exited and, as far as can be observed, so have all its processes. */
  readonly exit: Promise<ServerExit>;
  private isRefused = false;
  private lastFault = '';

  private constructor(
    private readonly parent: ChildProcess,
    private readonly words: Writable,
    private readonly log: Log,
  ) {
    words.on('error', () => undefined); // the guard has exited, so the run is over and `exit` settles
    this.exit = this.waitForEnd();
  }

  /**
   * Starts the server. The server inherits the lock's descriptor, so the caller can close its own copy when this returns.
   * @throws when there is no shell to start it
   */
  static async start(
    manner: LaunchOptions,
    command: readonly string[],
    lock: number | undefined,
    log: Log,
  ): Promise<Postmaster> {
    const child = launch(manner, ['/bin/sh', '-c', GUARDED, 'sh', ...command], {
      stdio: ['pipe', 'ignore', 'pipe', lock ?? 'ignore'],
      detached: true,
    });
    await once(child, 'spawn');
    const { stdin, stderr } = child;
    if (stdin === null || stderr === null) throw new Error('a piped child without pipes');
    const postmaster = new Postmaster(child, stdin, log);
    createInterface({ input: stderr }).on('line', (line) => postmaster.hear(line));
    return postmaster;
  }

  /** INT: disconnect all clients and shut down cleanly. QUIT: stop immediately; the next start runs recovery. */
  signal(name: 'INT' | 'QUIT'): void {
    this.words.write(`${name}\n`);
  }

  private async waitForEnd(): Promise<ServerExit> {
    const silence = once(this.parent, 'close'); // no process holds the log's pipe any longer
    const [status] = (await once(this.parent, 'exit')) as [number | null];
    const timer = new AbortController();
    const patience = delay(LINGERING_MS, undefined, { signal: timer.signal }).catch(() => undefined);
    await Promise.race([silence, patience]);
    timer.abort();
    return { status, isRefused: this.isRefused, lastFault: this.lastFault };
  }

  private hear(line: string): void {
    if (line.startsWith('\t')) return; // continuation of the previous message
    const message = readServerLine(line);
    if (message.code === LOCK_FILE_EXISTS) this.isRefused = true;
    if (['FATAL', 'PANIC'].includes(message.severity) || message.code === '') this.lastFault = message.text;
    const level = levelOf(message);
    if (level === undefined) return;
    this.log({ level, message: message.text, source: 'postgres', code: message.code || undefined });
  }
}
