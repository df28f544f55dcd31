import { constants } from 'node:fs';
import { type FileHandle, lchown, mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A user of this machine, with its group. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Returns the owner for a file that root creates in a directory: the owner of the directory. Otherwise a single run as root
 * would leave files that the usual user can never read. Returns undefined when this process is not root or root owns the
 * directory.
 */
export async function intendedOwnerOf(directory: string): Promise<Owner | undefined> {
  if (process.geteuid?.() !== 0) return undefined;
  const { uid, gid } = await stat(directory);
  return uid === 0 && gid === 0 ? undefined : { uid, gid };
}

/** Gives a file that root has just created to another user, if root is allowed to. */
export async function chownFile(file: FileHandle, intendedOwner: Owner | undefined): Promise<void> {
  if (intendedOwner) await file.chown(intendedOwner.uid, intendedOwner.gid).catch(unlessForbidden);
}

/**
 * Same as `chownFile`, for a directory. Does not follow symbolic links: the owner of the parent directory may have put one
 * there in the meantime.
 */
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
