import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * A short text that is made once and stays: the file appears complete or not at all, and of processes that start at
 * once the first one wins. When this resolves, the file survives a power cut.
 */
export async function keptText(path: string, make: () => string): Promise<string> {
  const kept = await readFile(path, 'utf8').catch(() => '');
  if (!kept) await makeOnce(path, make());
  // Also for a file that was found: who made it may not have come to this yet.
  await syncDirectory(dirname(path));
  return (await readFile(path, 'utf8')).trim();
}

/** Makes a created, renamed or removed name in this directory survive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

async function makeOnce(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
}
