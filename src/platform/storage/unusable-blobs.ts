import { access, constants, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { OperatorError } from '../config/index.js';

const { R_OK, W_OK, X_OK } = constants;

/** The access rights required for a workspace's directory, a directory in it, and a blob. */
const RIGHTS = [R_OK | W_OK | X_OK, R_OK | W_OK | X_OK, R_OK];

/**
 * How many entries of each directory are checked, and how many of those are entered: a start must be fast, and there may be
 * millions.
 */
const LOOKED_AT = 500;
const ENTERED = 8;

const OURS = /^[0-9a-f-]{2,36}$/; // excludes lost+found

/**
 * Without this check, the service would become ready and answer 503 forever after another user has created files there.
 * @param directory the directory of the store
 * @throws OperatorError when this user cannot use something in it
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
 * Finds a blob or a directory of blobs that this user cannot use, as left behind by a run or a copy by another user; undefined
 * if there is none among the first ones.
 * @param depth of the entries: 0 for those in the store's root
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
  const open = await opendir(directory).catch(() => undefined); // deleted, or not a directory
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
    return ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? ''); // it may have been deleted in the meantime
  }
}
