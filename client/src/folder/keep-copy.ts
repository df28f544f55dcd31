import { conflictPath } from './conflict-name.js';
import { contentOf, hashOf, proven, sha256 } from './contents.js';
import { DiskError } from './errors.js';
import { isTaken } from './move-aside.js';
import type { Stat } from './ports.js';
import type { Run } from './run.js';
import { joined, type LocalFile, nameOf, parentOf } from './trees.js';

/**
 * Copies a local file to a free name, so that the file can then be replaced in one step: its path is never empty, which the
 * next sync would take for a deletion. Reuses the copy of an interrupted attempt.
 * @returns a stat that proves that the file still has the copied content
 * @throws DiskError `changed` when it has not
 */
export async function keepCopy(run: Run, path: string, local: LocalFile): Promise<Stat> {
  const { disk, clock } = run.parts;
  const { diskPath, stat } = local;
  const { content } = await contentOf(disk, clock, diskPath, stat);
  await placeCopy(run, path, local, content);
  await run.settle(); // durable before the file is replaced
  const same = await proven(disk, clock, diskPath, stat, sha256(content));
  if (!same) throw new DiskError('changed', 'it was edited meanwhile: restore it again');
  return same;
}

async function placeCopy(run: Run, path: string, local: LocalFile, content: Uint8Array): Promise<void> {
  const { disk } = run.parts;
  const staged = await disk.stage(content);
  try {
    for (let count = 1; ; count++) {
      const copy = conflictPath(path, `conflict from ${run.options.device}`, count, run.traits);
      if (await hasContent(run, copy, content)) {
        await disk.discard(staged);
        return;
      }
      if (isTaken(run, copy)) continue;
      const to = joined(parentOf(local.diskPath), nameOf(copy));
      if (!(await isPlaced(run, staged, to, local.diskPath))) continue;
      run.report.conflicts.push({ path, copy });
      run.afterFlush([to], () => undefined);
      return;
    }
  } catch (error) {
    await disk.discard(staged);
    throw error;
  }
}

async function isPlaced(
  { parts: { disk } }: Run,
  staged: string,
  to: string,
  like: string,
): Promise<boolean> {
  try {
    await disk.place(staged, to, undefined, like);
    return true;
  } catch (error) {
    if (error instanceof DiskError && error.failure === 'exists') return false;
    throw error;
  }
}

async function hasContent({ local, parts }: Run, path: string, content: Uint8Array): Promise<boolean> {
  const file = local.files.get(path);
  if (file?.stat.size !== content.length) return false;
  return (await hashOf(parts.disk, parts.clock, file.diskPath, file.stat)).hash === sha256(content);
}
