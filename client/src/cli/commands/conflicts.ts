import type { Command } from 'commander';
import { conflictOriginal, NodeDisk, readRules, scan, systemClock } from '../../folder/index.js';
import type { Run } from '../command.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { formatSize } from '../sizes.js';
import type { SyncedFolder } from '../synced-folder.js';

export function registerConflicts(program: Command, run: Run): void {
  program
    .command('conflicts')
    .description('list files that were edited on two devices at once: both versions are in the folder')
    .argument('[folder]', 'a folder that is set up; the current directory unless given')
    .action(
      run(async (context: Context, argument: string | undefined) => {
        const folder = await context.folder(argument);
        const conflicts = await conflictsIn(folder);
        const lines = conflicts.map(
          ({ path, copy, size, changedAt, isPathThere }) =>
            `${copy} (${formatSize(size)}, ${changedAt})${isPathThere ? '' : `; ${path} is gone`}`,
        );
        const advice =
          'Compare each copy with its file, keep what you want under the name without the remark, and delete the copy.';
        context.output.result({ folder: folder.root, conflicts }, [
          ...lines,
          lines.length === 0 ? 'no conflicts' : advice,
        ]);
        return EXIT.ok;
      }),
    );
}

interface ConflictCopy {
  readonly path: string;
  readonly copy: string;
  readonly size: number;
  readonly changedAt: string;
  /** Whether the original file still exists. */
  readonly isPathThere: boolean;
}

/** Finds conflict copies by name. A copy counts as a conflict until it is renamed or deleted. */
async function conflictsIn(folder: SyncedFolder): Promise<ConflictCopy[]> {
  const disk = new NodeDisk(folder.root);
  const { files } = await scan(disk, await readRules(disk, systemClock, folder.settings));
  return [...files].flatMap(([copy, { stat }]) => {
    const path = conflictOriginal(copy);
    if (path === undefined) return [];
    const changedAt = new Date(Number(stat.mtimeNs / 1_000_000n)).toISOString();
    return [{ path, copy, size: stat.size, changedAt, isPathThere: files.has(path) }];
  });
}
