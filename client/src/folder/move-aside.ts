import { conflictPath } from './conflict-name.js';
import { DiskError } from './errors.js';
import type { DiskPath } from './ports.js';
import type { Run } from './run.js';
import { joined, type LocalFile, nameOf, parentOf } from './trees.js';

/** Renames a local file to a free name, under which it is a new file. @returns its path on disk */
export async function moveAside(run: Run, path: string, local: LocalFile, remark: string): Promise<DiskPath> {
  for (let count = 1; ; count++) {
    const copy = conflictPath(path, remark, count, run.traits);
    if (isTaken(run, copy)) continue;
    const to = joined(parentOf(local.diskPath), nameOf(copy));
    try {
      await run.parts.disk.rename(local.diskPath, to, local.stat);
    } catch (error) {
      if (error instanceof DiskError && error.failure === 'exists') continue;
      throw error;
    }
    run.report.conflicts.push({ path, copy });
    run.afterFlush([local.diskPath, to], () => undefined);
    return to;
  }
}

export function isTaken({ local, state }: Run, path: string): boolean {
  return [local.files, local.directories, local.heldBack, state.remote, state.synced].some((tree) =>
    tree.has(path),
  );
}
