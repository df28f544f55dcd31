import { readdir, readFile, readlink, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type ConnectionTarget, query } from './connection-target.js';
import { type DataDirectory, errorCode } from './data-directory.js';

/** What a server writes to postmaster.pid while it runs. */
export interface PidFile {
  readonly pid: number;
  /** False for a server of another cluster: the file came with a copy of its directory. */
  readonly isOfThisCluster: boolean;
  readonly port: number;
  readonly socketDirectory: string;
  /** Id of the shared memory segment by which its processes hold the cluster; NaN when it has none. */
  readonly sharedMemory: number;
}

/** @returns undefined when no server has signed, or one is only just writing */
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

/** Whether both lead to one directory; a path that leads nowhere is that of a directory which has been moved, or is on another machine. */
async function isSameDirectory(path: string, cluster: string): Promise<boolean> {
  if (path === cluster) return true;
  const [one, other] = await Promise.all([path, cluster].map((each) => stat(each).catch(() => undefined)));
  return one !== undefined && one.dev === other?.dev && one.ino === other.ino;
}

/**
 * Ends a server that an earlier run left behind without its guard. Only one that proves to be ours is told to stop:
 * it takes our password and reads, in its own cluster, the very process id that we signal.
 * @returns whether a server was told to stop
 */
export async function stopLeftBehind(data: DataDirectory, target: ConnectionTarget): Promise<boolean> {
  const signature = await readSignature(data);
  if (!signature?.isOfThisCluster) return false; // the other server has the same password
  const { pid, port, socketDirectory } = signature;
  try {
    const [row] = await query<{ signature: string }>(
      { ...target, host: socketDirectory, port, database: 'postgres' },
      `SELECT pg_read_file('postmaster.pid') AS signature`,
    );
    if (row?.signature.split('\n')[0] !== String(pid)) return false;
    return process.kill(pid, 'SIGINT');
  } catch {
    return false; // it is gone, stopping, or not ours
  }
}

/**
 * Stops at once a server that an earlier run left behind and that does not shut down: it takes no connection then, so
 * the kernel must prove that it is ours. What it acknowledged is kept, and recovered by the next start.
 * DANGER: the process id may be another's by now. So the caller holds DATA_DIR and has seen the cluster held, and where
 * the process cannot be seen (no /proc) nothing is signalled.
 * @returns whether a server was told to stop
 */
export async function quitLeftBehind(data: DataDirectory): Promise<boolean> {
  const pid = await livingServer(data);
  try {
    return pid !== undefined && process.kill(pid, 'SIGQUIT');
  } catch {
    return false; // it is gone, or another user's
  }
}

/** The process id of a server that the kernel shows to be at work on this cluster, and on no copy of it; undefined where that cannot be seen. */
export async function livingServer(data: DataDirectory): Promise<number | undefined> {
  const signature = await readSignature(data);
  if (signature === undefined || process.platform !== 'linux') return undefined;
  return (await ownerOf(signature.pid, data.cluster)) === 'server' ? signature.pid : undefined;
}

/**
 * Removes what a dead server left in the way of the next one, which a recurring process id or an unreaped zombie
 * makes look alive. DANGER: two servers on one cluster destroy it. So the caller holds the cluster's lock, which
 * no process of an earlier server has then, and nothing goes while a living process or a shared memory segment in
 * use speaks for the old server. Where that cannot be seen (no /proc) everything stays, but for the signature of a server of
 * another directory: its process and its memory say nothing of this one.
 * @returns whose it was; undefined when the way is not clear
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

/** server: the cluster's own may be alive; another: one of another directory has signed; nobody: it is dead. */
async function holderOf(signature: PidFile, cluster: string): Promise<'server' | 'another' | 'nobody'> {
  const { pid, sharedMemory, isOfThisCluster } = signature;
  if (process.platform !== 'linux') return isOfThisCluster ? 'server' : 'another';
  const owner = await ownerOf(pid, cluster);
  if (owner === 'server') return 'server'; // also of a directory that was renamed under it
  if (!isOfThisCluster || (await servesAnother(signature, cluster))) return 'another';
  return owner === 'none' && !(await isAttached(sharedMemory)) ? 'nobody' : 'server';
}

/** Whether the process that has signed is at work in another directory, where it has signed the same: this one has its old path. */
async function servesAnother({ pid, sharedMemory }: PidFile, cluster: string): Promise<boolean> {
  const directory = await readlink(`/proc/${pid}/cwd`).catch(() => cluster);
  if (directory === cluster) return false;
  const theirs = await readSignature({ cluster: directory }).catch(() => undefined);
  return theirs?.pid === pid && theirs.sharedMemory === sharedMemory;
}

/** server: a living process of the cluster's server; none: certainly not one; unclear: neither can be seen. */
type ProcessState = 'server' | 'unclear' | 'none';

async function ownerOf(pid: number, cluster: string): Promise<ProcessState> {
  try {
    const status = await readFile(`/proc/${pid}/stat`, 'utf8');
    const [, name, state] = /^\d+ \((.*)\) (\S)/s.exec(status) ?? [];
    if (state === 'Z' || state === 'X') return 'none';
    // Every process of a server has the cluster as its working directory; a container's root may not see that.
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
