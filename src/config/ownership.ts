import { constants } from 'node:fs';
import { type FileHandle, lchown, mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A user of this machine, with a group. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Whom a file that root makes in a directory is to belong to: the owner of the directory. Otherwise one run as root would leave
 * files that the usual user can never read. Undefined for every other user, and where that is root itself.
 */
export async function heirOf(directory: string): Promise<Owner | undefined> {
  if (process.geteuid?.() !== 0) return undefined;
  const { uid, gid } = await stat(directory);
  return uid === 0 && gid === 0 ? undefined : { uid, gid };
}

/** Gives a file that root has just made to somebody, where root may do that. */
export async function giveFile(file: FileHandle, heir: Owner | undefined): Promise<void> {
  if (heir) await file.chown(heir.uid, heir.gid).catch(unlessForbidden);
}

/** The same for a directory. No link is followed: whoever owns the directory above may have put one there meanwhile. */
export async function giveDirectory(path: string, heir: Owner | undefined): Promise<void> {
  if (heir) await lchown(path, heir.uid, heir.gid).catch(unlessForbidden);
}

/**
 * Makes a directory and what is missing above it, for the owner of the directory in which that begins.
 * @returns the first one that was made; undefined when it was there
 */
export async function makeDirectories(path: string, mode: number): Promise<string | undefined> {
  const first = await mkdir(path, { recursive: true, mode });
  const heir = first === undefined ? undefined : await heirOf(dirname(first));
  if (first === undefined || heir === undefined) return first;
  for (let made = path; made.length >= first.length; made = dirname(made)) await giveDirectory(made, heir);
  return first;
}

/** As root, makes a file for the owner of its directory unless it is there; others make theirs when they open it. */
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

/** Where root may not give files away: no CAP_CHOWN, an export that squashes root, an id that is not mapped. */
const FORBIDDEN = new Set(['EPERM', 'EACCES', 'EINVAL', 'ENOSYS', 'ENOTSUP']);

function unlessForbidden(error: unknown): void {
  if (!FORBIDDEN.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
}
