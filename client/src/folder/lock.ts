import { link, mkdir, readFile, rm, unlink, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Another client works with this state. */
export class AlreadyRunning extends Error {
  override readonly name = 'AlreadyRunning';
}

/**
 * A file that says which process works with a state. One that its process has left behind does not count; a number that
 * was given to another process since is told by the time at which that one began.
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

  /** @returns the number of the process that has the lock, if it runs */
  static async holder(path: string): Promise<number | undefined> {
    const holder = await textOf(path);
    return holder !== undefined && isAlive(holder) ? pidOf(holder) : undefined;
  }

  async release(): Promise<void> {
    await unlink(this.path);
  }
}

/**
 * Removes what a process has left behind, under a lock of its own: whoever has that is alone to remove the other, and looks
 * again first. A lock whose process is dead changes no more by then; one that is not there may be taken at any moment.
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

/** @returns undefined when nobody has the lock */
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

/** At once and whole: the name appears with its content. @returns false when it is taken */
async function linked(own: string, path: string): Promise<boolean> {
  try {
    await link(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** A process by number and beginning, as far as the system tells; empty when it does not run. */
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
