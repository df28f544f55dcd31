import { readFile } from 'node:fs/promises';
import {
  diskProblem,
  foldKey,
  type FolderState,
  IGNORE_FILE,
  type LocalTree,
  NodeDisk,
  readRules,
  scan,
  systemClock,
  type Traits,
} from '../../folder/index.js';
import { formatSize } from '../sizes.js';
import type { SyncedFolder } from '../synced-folder.js';
import { type Finding, ok, warning } from './check.js';

const FEW = 10;

export async function checkDisk({ root }: SyncedFolder): Promise<[Finding[], Traits]> {
  const disk = new NodeDisk(root);
  const traits = await disk.traits();
  const free = await disk.freeBytes();
  const folds = [traits.foldsCase && 'case', traits.foldsUnicode && 'Unicode forms'].filter(
    (one) => one !== false,
  );
  const names =
    folds.length === 0 ? 'all names are kept apart' : `names that differ by ${folds.join(' and ')} are one`;
  const characters = traits.windowsCharacters ? '; some characters are refused' : '';
  return [
    [
      ok(
        'disk',
        `${names}${characters}; up to ${traits.maxName} ${traits.nameUnit === 'bytes' ? 'bytes' : 'characters'}`,
      ),
      ok('room', free === undefined ? 'the disk does not tell what is free' : `${formatSize(free)} free`),
    ],
    traits,
  ];
}

/** Reports names from the server that this disk cannot store, or treats as another name. */
export function checkNames({ remote }: FolderState, traits: Traits): Finding {
  const problems: string[] = [];
  const taken = new Map<string, string>();
  for (const path of remote.keys()) {
    const problem = diskProblem(traits, path);
    const key = foldKey(traits, path);
    const twin = taken.get(key);
    if (problem !== undefined) problems.push(`${path}: ${problem}`);
    else if (twin !== undefined) problems.push(`${path}: this disk takes its name for that of ${twin}`);
    taken.set(key, path);
  }
  return summary('names', problems, 'this disk takes every name of the workspace');
}

export async function checkIgnoreFile({ root, settings }: SyncedFolder): Promise<[Finding[], LocalTree]> {
  const disk = new NodeDisk(root);
  const tree = await scan(disk, await readRules(disk, systemClock, settings));
  const files = `${IGNORE_FILE} can be read, or there is none; ${tree.files.size} files are to be synced`;
  const problems = [...tree.heldBack, ...tree.unreadable].map(([path, reason]) => `${path}: ${reason}`);
  return [[ok('ignore file', files), summary('files', problems, 'every one of them can be synced')], tree];
}

/** Linux limits the number of files and directories that a user may watch. */
export async function checkWatches({ files, directories }: LocalTree): Promise<Finding> {
  const text = await readFile('/proc/sys/fs/inotify/max_user_watches', 'utf8').catch(() => undefined);
  if (text === undefined) return ok('file events', 'this system has no limit that could be read');
  const [limit, needed] = [Number(text), files.size + directories.size + 1];
  const counts = `${needed} of the ${limit} that the system watches for a user`;
  return needed * 2 <= limit
    ? ok('file events', counts)
    : warning(
        'file events',
        `${counts}: raise fs.inotify.max_user_watches, or edits wait for the scan at intervals`,
      );
}

function summary(what: string, problems: readonly string[], good: string): Finding {
  if (problems.length === 0) return ok(what, good);
  const more = problems.length > FEW ? ` (and ${problems.length - FEW} more)` : '';
  return warning(what, problems.slice(0, FEW).join('; ') + more);
}
