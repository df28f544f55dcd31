import { stat } from 'node:fs/promises';
import { sep } from 'node:path';
import { UsageError } from './errors.js';
import { allFolders, stateOf } from './synced-folder.js';

const isIn = (place: string, parent: string): boolean =>
  place === parent || place.startsWith(parent.endsWith(sep) ? parent : `${parent}${sep}`);

/**
 * Checks that a folder can be set up. Refuses one that would be synced twice, or that contains the state with its keys.
 * @param root without symbolic links @returns whether it has to be created @throws UsageError
 */
export async function checkPlace(root: string, home: string): Promise<boolean> {
  if (isIn(stateOf(root, home), root))
    throw new UsageError(
      `the state of this client, with its keys, would be in ${root}: choose a folder without ${home}`,
    );
  if (isIn(root, home)) throw new UsageError(`${root} is in the state of this client`);
  for (const other of await allFolders(home))
    if (other !== root && (isIn(root, other) || isIn(other, root)))
      throw new UsageError(
        `${other} is synced, and one of the two is in the other: every file would be synced twice`,
      );
  const found = await stat(root).catch(() => undefined);
  if (found && !found.isDirectory()) throw new UsageError(`${root} is not a directory`);
  return !found;
}
