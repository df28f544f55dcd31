import { spawn } from 'node:child_process';
import { close as closeFile, constants, open as openFile } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { makeFileForIntendedOwner } from '../../config/index.js';
import { errorCode } from './data-directory.js';
import { SYSTEM_PATH } from './launcher.js';

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

/** Node has no flock(2). The program of that name locks the open file that it inherits; the lock stays ours after it exits. */
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
