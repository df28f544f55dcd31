import { access, constants, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError } from '../config/index.js';

const { R_OK, W_OK, X_OK } = constants;

/** The access that a workspace's directory, a directory in it, and a blob need. */
const RIGHTS = [R_OK | W_OK | X_OK, R_OK | W_OK | X_OK, R_OK];

/** So many entries of each directory are looked at, and so many of them are entered: a start takes no time, and there may be millions. */
const LOOKED_AT = 500;
const ENTERED = 8;

const OURS = /^[0-9a-f-]{2,36}$/; // not lost+found

/**
 * Otherwise the service would be ready, and would answer 503 for good where another user has been at work.
 * @param directory that of the store
 * @throws OperatorError when something in it cannot be used by this user
 */
export async function expectUsable(directory: string): Promise<void> {
  const path = await findUnusable(directory);
  if (path === undefined) return;
  const { uid } = await stat(path).catch(() => ({ uid: 'unknown' }));
  throw new OperatorError(
    `${path} cannot be used by this user (its owner has the id ${uid}); give all of ${directory} to the user who runs the service (chown -R), and start again.`,
  );
}

/**
 * A blob or a directory of blobs that this user cannot use, as a run or a copy by another user leaves behind; undefined
 * when there is none among the first.
 * @param depth of the entries: 0 for those of the store's root
 */
async function findUnusable(directory: string, depth = 0): Promise<string | undefined> {
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
