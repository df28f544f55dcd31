import { opendir, rm, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/** Files removed at the same time: few enough to leave threads for other file operations. */
const AT_A_TIME = 2;

/**
 * Removes a directory with all it contains, or nothing if it does not exist. The memory it takes does not depend on the number of
 * files: `rm` keeps all names of a directory and one request for each, which is 200 MB for 300,000 files.
 */
export async function removeTree(path: string): Promise<void> {
  await emptied(path);
  // For what has been created meanwhile, such as by a network file system for a file that is still open.
  await rm(path, { recursive: true, force: true, maxRetries: 3 });
}

async function emptied(path: string): Promise<void> {
  const directory = await opendir(path).catch(unlessMissing);
  if (!directory) return;
  const running = new Set<Promise<unknown>>();
  for await (const entry of directory) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) {
      await emptied(child);
      await rmdir(child).catch(() => undefined); // the caller's `rm` reports what is wrong
      continue;
    }
    const removal = unlink(child).catch(() => undefined);
    running.add(removal);
    void removal.then(() => running.delete(removal));
    if (running.size >= AT_A_TIME) await Promise.race(running);
  }
  await Promise.all(running);
}

function unlessMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
