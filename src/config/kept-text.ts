import { randomBytes } from 'node:crypto';
import { link, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory, writeDurably } from './durable-file.js';
import { heirOf } from './ownership.js';

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

async function makeOnce(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeDurably(draft, [text], await heirOf(dirname(path)));
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
}
