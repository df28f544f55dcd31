import { readFile, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../../config/index.js';
import { type DataDirectory, errorCode, explained, openDataDirectory } from './data-directory.js';
import { type Lock, tryLockFile, tryLockName } from './file-lock.js';

const heldByThisProcess = new Set<string>();

/**
 * How long a process that lost the race waits for the name of the winner, who holds the lock but has not written the file yet.
 */
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
