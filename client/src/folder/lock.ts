import { link, mkdir, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Another client uses this state. */
export class AlreadyRunning extends Error {
  override readonly name = 'AlreadyRunning';
}

/**
 * A lock file that names the process that uses a state. The lock of a dead process does not count; the start time of the
 * process shows whether its id has been reused.
 */
export class Lock {
  private constructor(private readonly path: string) {}

  /** @throws AlreadyRunning */
  static async take(path: string): Promise<Lock> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const own = `${path}.${process.pid}`;
    try {
      await writeFile(own, holderOf(process.pid), { mode: 0o600 });
      for (let attempt = 0; attempt < 3; attempt++) {
        if (await linked(own, path)) return new Lock(path);
        const pid = await Lock.holder(path);
        if (pid !== undefined)
          throw new AlreadyRunning(`another client (process ${pid}) syncs this folder: stop it first`);
        await removeStale(path);
      }
    } finally {
      await rm(own, { force: true });
    }
    throw new AlreadyRunning('another client begins to sync this folder: try again');
  }

  /** @returns the id of the process that holds the lock, if it runs */
  static async holder(path: string): Promise<number | undefined> {
    const holder = await textOf(path);
    return holder !== undefined && isAlive(holder) ? pidOf(holder) : undefined;
  }

  async release(): Promise<void> {
    await unlink(this.path);
  }
}

/**
 * Removes the lock of a dead process, under a second lock: only its holder may remove the first, and checks it again. A
 * dead process no longer changes its lock, but a free lock may be taken at any moment.
 */
async function removeStale(path: string): Promise<void> {
  const guard = await Lock.take(`${path}.stale`);
  try {
    const holder = await textOf(path);
    if (holder !== undefined && !isAlive(holder)) await unlink(path);
  } finally {
    await guard.release();
  }
}

/** @returns undefined when the lock is free */
async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

const pidOf = (holder: string): number => Number(holder.split(' ')[0]);

const isAlive = (holder: string): boolean => holder !== '' && holderOf(pidOf(holder)) === holder;

/** Atomic: the name appears together with the content. @returns false when the name is taken */
async function linked(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** A process by id and start time, if the system tells; empty when it does not run. */
function holderOf(pid: number): string {
  if (!Number.isInteger(pid) || pid <= 0) return '';
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return '';
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return `${pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`;
  } catch {
    return `${pid} -`;
  }
}
