import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { close as closeFile, constants, open as openFile } from 'node:fs';
import { access, chmod, mkdir, readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  chownDirectory,
  diskFull,
  explainedByDataDir,
  intendedOwnerOf,
  makeDirectories,
  makeFileForIntendedOwner,
  OperatorError,
} from '../../config/index.js';
import { SYSTEM_PATH } from './launcher.js';

const OUT_OF_DISK = '53100';

/** The paths of the embedded database under DATA_DIR. */
export interface DataDirectory {
  /** DATA_DIR as the operator wrote it, for messages. */
  readonly shown: string;
  /** The real path, which stays valid when the working directory changes. */
  readonly path: string;
  /** The PostgreSQL data directory; it exists only once it is complete. */
  readonly cluster: string;
  readonly passwordFile: string;
}

/** Whether this process bypasses permission checks and runs as a user for which PostgreSQL refuses to start. */
export function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

/**
 * Resolves the paths under an existing DATA_DIR.
 * @throws the error of realpath, ENOENT when there is no such directory
 */
export async function locateDataDirectory(shown: string): Promise<DataDirectory> {
  const path = await realpath(shown);
  return {
    shown,
    path,
    cluster: join(path, 'postgres'),
    passwordFile: join(path, 'secrets', 'postgres-password'),
  };
}

/**
 * Creates DATA_DIR if it is missing. Only this user may enter it, except that root lets the account of PostgreSQL pass through
 * it (but not list it); everything inside is protected separately. Root does the same with an existing empty directory; one
 * with contents keeps the mode that the operator has set.
 * @throws OperatorError when it is a file or cannot be written, or its disk is full
 */
export async function openDataDirectory(shown: string): Promise<DataDirectory> {
  try {
    await makeDirectory(shown);
    await access(`${shown}/.`, constants.R_OK | constants.W_OK | constants.X_OK); // ENOTDIR for a file
    return await locateDataDirectory(shown);
  } catch (error) {
    throw explainedByDataDir(error, shown);
  }
}

async function makeDirectory(path: string): Promise<void> {
  await makeDirectories(dirname(path), 0o777);
  try {
    await mkdir(path);
    const intendedOwner = await intendedOwnerOf(dirname(path));
    await chmod(path, isRoot() && !intendedOwner ? 0o711 : 0o700); // the umask would apply to mkdir's own mode
    await chownDirectory(path, intendedOwner);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    if (isRoot()) await openUnused(path);
  }
}

async function openUnused(path: string): Promise<void> {
  const found = await stat(path);
  if (!found.isDirectory() || found.uid !== 0 || (await readdir(path)).length > 0) return;
  await chmod(path, found.mode | 0o011);
}

/**
 * Turns a fault of DATA_DIR into a sentence that says how to fix it. Excludes ENOENT, which may be about one of the server's
 * own files.
 */
export function explained(error: unknown, shown: string): unknown {
  const code = errorCode(error);
  if (code === 'ENOENT') return error;
  return code === OUT_OF_DISK ? diskFull(shown) : explainedByDataDir(error, shown);
}

/**
 * The code of a system or PostgreSQL error, such as ENOENT or 57P03. Checks the shape of the object: in a separate context, as
 * under jest, a system error is not an instance of this realm's Error.
 */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

export function errorMessage(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : String(error);
}

/** A lock of one process; releasing it twice does nothing. */
export interface Lock {
  release(): Promise<void>;
}

/**
 * A kernel lock. It belongs to the open file: it lasts while this process, or a child that inherited the descriptor, has the
 * file open, and ends with the last of them, however they end. It is therefore never stale.
 */
export interface FileLock extends Lock {
  readonly fd: number;
}

const openDescriptor = promisify(openFile);
const closeDescriptor = promisify(closeFile);

/** O_EXLOCK and O_NONBLOCK of macOS and the BSDs, where open(2) can lock; Node defines only the second one. */
const OPEN_LOCKED = 0x20 | 0x4;

/**
 * Tries to get an exclusive lock on this file, which is created if it is missing and must never be removed.
 * @returns 'busy' when another process holds the lock, 'unsupported' when the system or file system has no such locks
 */
export async function tryLockFile(path: string): Promise<FileLock | 'busy' | 'unsupported'> {
  await makeFileForIntendedOwner(path);
  return process.platform === 'linux' ? await lockByHelper(path) : await lockByOpening(path);
}

/** Node has no flock(2). The program of that name locks the open file that it inherits; this process keeps the lock. */
async function lockByHelper(path: string): Promise<FileLock | 'busy' | 'unsupported'> {
  const fd = await openDescriptor(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  const status = await runFlock(fd);
  if (status === 0) return held(fd);
  await closeDescriptor(fd);
  return status === 1 ? 'busy' : 'unsupported';
}

async function runFlock(fd: number): Promise<number | null> {
  const stdio = ['ignore', 'ignore', 'ignore', fd] as const;
  const helper = spawn('flock', ['-x', '-n', '3'], { stdio: [...stdio], env: { PATH: SYSTEM_PATH } });
  try {
    const [status] = (await once(helper, 'exit')) as [number | null];
    return status;
  } catch {
    return null; // the program is not installed
  }
}

async function lockByOpening(path: string): Promise<FileLock | 'busy' | 'unsupported'> {
  try {
    return held(await openDescriptor(path, constants.O_RDWR | constants.O_CREAT | OPEN_LOCKED, 0o600));
  } catch (error) {
    const code = errorCode(error) ?? '';
    if (['EAGAIN', 'EWOULDBLOCK'].includes(code)) return 'busy';
    if (['ENOTSUP', 'EOPNOTSUPP', 'EINVAL'].includes(code)) return 'unsupported';
    throw error;
  }
}

function held(fd: number): FileLock {
  let released: Promise<void> | undefined;
  return { fd, release: () => (released ??= closeDescriptor(fd)) };
}

/**
 * Tries to be the only process with this name on this machine (on Linux: in this network namespace), for systems without file
 * locks. The name is released when the process ends.
 */
export async function tryLockName(name: string): Promise<Lock | 'busy'> {
  const server = createServer((visitor) => visitor.destroy());
  server.listen(process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : `\0${name}`);
  try {
    await once(server, 'listening');
  } catch (error) {
    if (errorCode(error) === 'EADDRINUSE') return 'busy';
    throw error;
  }
  server.unref();
  return {
    release: async () => {
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

const heldByThisProcess = new Set<string>();

/** How long a process that lost the race waits for the winner's name: the winner locks the file before it writes to it. */
const LOOK_FOR_OWNER_MS = 500;

/**
 * Creates DATA_DIR if it is missing, and locks it for this process. The kernel holds the lock: of any number of processes that
 * start at the same time, exactly one gets it; it ends with its process (also after kill -9); and where file locks work, it
 * also holds between containers that share the directory. Call this before anything else touches DATA_DIR.
 * @throws OperatorError that names the other process when DATA_DIR is in use, and when DATA_DIR cannot be used
 */
export async function lockDataDirectory(dataDir: string): Promise<Lock> {
  const data = await openDataDirectory(dataDir);
  const file = join(data.path, 'service.lock');
  const lock = await takeLock(data, file).catch((error: unknown) => {
    throw explained(error, dataDir);
  });
  if (lock === 'busy') throw inUse(dataDir, await findOwner(file));
  try {
    await writeFile(file, `${process.pid} ${hostname()}\n`, { mode: 0o600 });
    heldByThisProcess.add(data.path);
  } catch (error) {
    await lock.release();
    throw explained(error, dataDir);
  }
  const release = async (): Promise<void> => {
    heldByThisProcess.delete(data.path);
    await lock.release();
  };
  return { release };
}

/** Whether this process has locked the directory and not released it. */
export async function holdsDataDirectory(dataDir: string): Promise<boolean> {
  return heldByThisProcess.has((await openDataDirectory(dataDir)).path);
}

async function takeLock(data: DataDirectory, file: string): Promise<Lock | 'busy'> {
  const lock = await tryLockFile(file);
  if (lock !== 'unsupported') return lock;

  const { dev, ino } = await stat(data.path);
  return await tryLockName(`cloudsync-${dev}-${ino}`);
}

function inUse(dataDir: string, owner: string | undefined): OperatorError {
  const who = owner === undefined ? '' : ` (${owner})`;
  return new OperatorError(
    `The data directory ${dataDir} is in use by another running service${who}; stop it, or give this one a DATA_DIR of its own.`,
  );
}

/** Until the current owner has written its name, the file may still name an owner that was killed. */
async function findOwner(file: string): Promise<string | undefined> {
  const deadline = performance.now() + LOOK_FOR_OWNER_MS;
  do {
    const [pid = '', host = ''] = (await readFile(file, 'utf8')).trim().split(' ');
    if (host !== '' && host !== hostname()) return `pid ${pid} on ${host}`;
    if (pid !== '' && isAlive(Number(pid))) return `pid ${pid}`;
    await delay(10);
  } while (performance.now() < deadline);
  return undefined;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}
