import { DiskError, type DiskFailure } from './errors.js';

const FAILURES: Readonly<Record<string, readonly [DiskFailure, string]>> = {
  ENOENT: ['absent', 'it is not there'],
  EEXIST: ['exists', 'the name is taken'],
  ENOTEMPTY: ['exists', 'the name is taken'],
  EISDIR: ['in-the-way', 'a directory is in the way'],
  ENOTDIR: ['in-the-way', 'something else is in the place of a directory: move it elsewhere'],
  ELOOP: ['in-the-way', 'a symbolic link is in the way: move it elsewhere'],
  EACCES: ['denied', 'no permission: change the permissions of the file or of its directory'],
  EPERM: ['denied', 'the system does not permit it: change the permissions of the file or of its directory'],
  EROFS: ['read-only', 'the disk is read-only'],
  ENOSPC: ['full', 'the disk is full'],
  EDQUOT: ['full', 'the quota of the disk is used up'],
  EFBIG: ['full', 'larger than a file of this disk can be'],
  ENAMETOOLONG: ['name', 'the name is longer than this disk takes'],
  EILSEQ: ['name', 'this disk does not take the name'],
  EINVAL: ['name', 'this disk does not take the name'],
};

/** Converts a system error to the DiskError that it means, if any. */
export function diskError(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof DiskError || code === undefined) return error;
  const [failure, message] = FAILURES[code] ?? ['io', `the disk fails (${code})`];
  return new DiskError(failure, message, { cause: error });
}

/** Runs a file system operation. Refusals become DiskErrors. */
export async function onDisk<T>(operation: () => T | Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    throw diskError(error);
  }
}
