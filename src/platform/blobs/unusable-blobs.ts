import { access, constants, opendir } from 'node:fs/promises';
import { join } from 'node:path';

const { R_OK, W_OK, X_OK } = constants;

/** What may be done to a workspace's directory, to one of those in it, and to a blob. */
const RIGHTS = [R_OK | W_OK | X_OK, R_OK | W_OK | X_OK, R_OK];

/** So many entries of each directory are looked at, and so many of them are entered: a start takes no time, and there may be millions. */
const LOOKED_AT = 500;
const ENTERED = 8;

const OURS = /^[0-9a-f-]{2,36}$/; // not lost+found

/**
 * A blob or a directory of blobs that this user cannot use, as a run or a copy by another user leaves behind; undefined
 * when there is none among the first.
 * @param depth of the entries: 0 for those of the store's root
 */
export async function findUnusable(directory: string, depth = 0): Promise<string | undefined> {
  const entries = await firstOf(directory);
  const rights = RIGHTS[depth] ?? R_OK;
  for (const path of entries) if (await isDenied(path, rights)) return path;
  if (depth + 1 === RIGHTS.length) return undefined;
  for (const path of entries.slice(0, ENTERED)) {
    const found = await findUnusable(path, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function firstOf(directory: string): Promise<string[]> {
  const entries: string[] = [];
  const open = await opendir(directory).catch(() => undefined); // gone, or none
  for await (const { name } of open ?? []) {
    if (OURS.test(name)) entries.push(join(directory, name));
    if (entries.length === LOOKED_AT) break;
  }
  return entries;
}

async function isDenied(path: string, rights: number): Promise<boolean> {
  try {
    await access(path, rights);
    return false;
  } catch (error) {
    return ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? ''); // it may have gone meanwhile
  }
}
