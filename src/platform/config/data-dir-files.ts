import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import {
  type FileHandle,
  lchown,
  link,
  mkdir,
  open,
  opendir,
  readFile,
  rm,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OperatorError } from './operator-error.js';

/** A user id with its group id. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Returns the owner for a file that root creates in a directory: the owner of the directory. Otherwise a single run as root would
 * leave files that the service's usual user cannot read. Returns undefined when this process is not root or root owns the
 * directory.
 */
export async function intendedOwnerOf(directory: string): Promise<Owner | undefined> {
  if (process.geteuid?.() !== 0) return undefined;
  const { uid, gid } = await stat(directory);
  return uid === 0 && gid === 0 ? undefined : { uid, gid };
}

/** Gives a file that root has just created to another user, if the file system permits it. */
async function chownFile(file: FileHandle, intendedOwner: Owner | undefined): Promise<void> {
  if (intendedOwner) await file.chown(intendedOwner.uid, intendedOwner.gid).catch(unlessForbidden);
}

/** Like `chownFile`, for a directory. Does not follow symbolic links, because the parent's owner may have put one there. */
export async function chownDirectory(path: string, intendedOwner: Owner | undefined): Promise<void> {
  if (intendedOwner) await lchown(path, intendedOwner.uid, intendedOwner.gid).catch(unlessForbidden);
}

/**
 * Creates a directory and its missing parents, owned by the owner of the first existing parent.
 * @returns the first directory that was created; undefined when the path existed
 */
export async function makeDirectories(path: string, mode: number): Promise<string | undefined> {
  const first = await mkdir(path, { recursive: true, mode });
  const intendedOwner = first === undefined ? undefined : await intendedOwnerOf(dirname(first));
  if (first === undefined || intendedOwner === undefined) return first;
  for (let made = path; made.length >= first.length; made = dirname(made))
    await chownDirectory(made, intendedOwner);
  return first;
}

/** As root, creates a file for the owner of its directory unless it exists; for other users, opening the file creates it. */
export async function makeFileForIntendedOwner(path: string): Promise<void> {
  const intendedOwner = await intendedOwnerOf(dirname(path));
  if (!intendedOwner) return;
  let file: FileHandle;
  try {
    file = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  try {
    await chownFile(file, intendedOwner);
  } finally {
    await file.close();
  }
}

/** Errors where root may not change owners: no CAP_CHOWN, an NFS export with root squash, an unmapped id. */
const FORBIDDEN = new Set(['EPERM', 'EACCES', 'EINVAL', 'ENOSYS', 'ENOTSUP']);

function unlessForbidden(error: unknown): void {
  if (!FORBIDDEN.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
}

/** Turns a file system error into a sentence that says how to fix it; returns any other error unchanged. */
export function explainedByDataDir(error: unknown, directory: string): unknown {
  const sentence = new Map(Object.entries(sentences(directory))).get(
    (error as NodeJS.ErrnoException).code ?? '',
  );
  return sentence === undefined ? error : new OperatorError(sentence, { cause: error });
}

export function diskFull(directory: string): OperatorError {
  return new OperatorError(sentences(directory).ENOSPC);
}

function sentences(directory: string) {
  const denied = `${directory} cannot be read and written by this user; change its owner, or set DATA_DIR to a directory of your own.`;
  const file = `${directory} is a file or is below one; set DATA_DIR to a directory.`;
  const full = `The disk that holds ${directory} is full; free some space or set DATA_DIR to a directory on another disk.`;
  return {
    EACCES: denied,
    EPERM: denied,
    ENOTDIR: file,
    EEXIST: file,
    ENOENT: `${directory} cannot be created; set DATA_DIR to a writable directory.`,
    EROFS: `${directory} is on a read-only file system; set DATA_DIR to a writable directory.`,
    ENOSPC: full,
    EDQUOT: full,
    EIO: `The disk that holds ${directory} has I/O errors; repair it, or set DATA_DIR to a directory on another disk.`,
  };
}

/**
 * Creates a file that only its owner can read. Once this has resolved and the directory is synced, the file survives a power
 * failure. Fails if the name exists already, even as a symbolic link.
 * @param intendedOwner set before anything is written; a file below DATA_DIR belongs to `intendedOwnerOf` its directory
 */
export async function writeDurably(
  path: string,
  chunks: AsyncIterable<Buffer> | Iterable<Buffer | string>,
  intendedOwner?: Owner,
): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await chownFile(file, intendedOwner);
    for await (const chunk of chunks) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a created, renamed or deleted name in this directory survive a power failure. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/**
 * Returns a short text that is created once and never changes: the file appears complete or not at all, and of several concurrent
 * processes, the first one wins. Once this has resolved, the file survives a power failure.
 */
export async function keptText(path: string, make: () => string): Promise<string> {
  const kept = await readFile(path, 'utf8').catch(() => '');
  if (!kept) await makeOnce(path, make());
  // Also needed for an existing file: the process that created it may not have synced the directory yet.
  await syncDirectory(dirname(path));
  return (await readFile(path, 'utf8')).trim();
}

async function makeOnce(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeDurably(draft, [text], await intendedOwnerOf(dirname(path)));
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Returns a secret that was not configured: created once, stored in `DATA_DIR/secrets` (mode 0600) and the same after every
 * restart. Two processes that start at the same time get the same secret.
 * @throws OperatorError when it can be neither read nor created
 */
export async function keptSecret(dataDir: string, name: string): Promise<string> {
  const directory = join(dataDir, 'secrets');
  try {
    await makeDirectories(directory, 0o700);
    return await keptText(join(directory, name), () => randomBytes(32).toString('base64url'));
  } catch (error) {
    throw explainedByDataDir(error, directory);
  }
}

/** Concurrent removals: few enough to leave threads for other file operations. */
const AT_A_TIME = 2;

/**
 * Removes a directory and its contents, if it exists. Memory use does not depend on the number of files: `rm` keeps all names of
 * a directory and one request for each, which is 200 MB for 300,000 files.
 */
export async function removeTree(path: string): Promise<void> {
  await emptied(path);
  // Removes files created in the meantime, such as by a network file system for a file that is still open.
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
      await rmdir(child).catch(() => undefined); // the caller's `rm` reports the error
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
