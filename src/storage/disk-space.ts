import { statfs } from 'node:fs/promises';

/** Space of a file system, in bytes. */
export interface DiskSpace {
  readonly total: number;
  /** What this process may still write; undefined where the file system tells no size: such a one is not full. */
  readonly free: number | undefined;
}

/** Space of the file system that `path` is on. @throws the error of the file system */
export async function diskSpace(path: string): Promise<DiskSpace> {
  const { bavail, blocks, bsize } = await statfs(path);
  return { total: blocks * bsize, free: blocks > 0 ? bavail * bsize : undefined };
}
