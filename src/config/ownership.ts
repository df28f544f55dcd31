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
export async function heirOf(directory: string): Promise<Owner | undefined> {
  if (process.geteuid?.() !== 0) return undefined;
  const { uid, gid } = await stat(directory);
  return uid === 0 && gid === 0 ? undefined : { uid, gid };
}

/** Gives a file that root has just created to another user, if root is allowed to. */
export async function giveFile(file: FileHandle, heir: Owner | undefined): Promise<void> {
  if (heir) await file.chown(heir.uid, heir.gid).catch(unlessForbidden);
}

/**
 * Same as `giveFile`, for a directory. Does not follow symbolic links: the owner of the parent directory may have put one
 * there in the meantime.
 */
export async function giveDirectory(path: string, heir: Owner | undefined): Promise<void> {
  if (heir) await lchown(path, heir.uid, heir.gid).catch(unlessForbidden);
}

/**
 * Creates a directory and its missing parents, owned by the owner of the first existing parent.
 * @returns the first directory that was created; undefined when the path existed
 */
export async function makeDirectories(path: string, mode: number): Promise<string | undefined> {
  const first = await mkdir(path, { recursive: true, mode });
  const heir = first === undefined ? undefined : await heirOf(dirname(first));
  if (first === undefined || heir === undefined) return first;
  for (let made = path; made.length >= first.length; made = dirname(made)) await giveDirectory(made, heir);
  return first;
}

/** As root, creates a file for the owner of its directory unless it exists; for other users, opening the file creates it. */
export async function makeFileForHeir(path: string): Promise<void> {
  const heir = await heirOf(dirname(path));
  if (!heir) return;
  let file: FileHandle;
  try {
    file = await open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  try {
    await giveFile(file, heir);
  } finally {
    await file.close();
  }
}

/** Errors where root may not change owners: no CAP_CHOWN, an NFS export with root squash, an unmapped id. */
const FORBIDDEN = new Set(['EPERM', 'EACCES', 'EINVAL', 'ENOSYS', 'ENOTSUP']);

function unlessForbidden(error: unknown): void {
  if (!FORBIDDEN.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
}
