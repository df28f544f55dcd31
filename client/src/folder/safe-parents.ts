import { closeSync, constants, existsSync, lstatSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DiskError } from './errors.js';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const HAS_DESCRIPTORS = process.platform === 'linux' && existsSync('/proc/self/fd');

/**
 * Runs synchronous work with the path of the directory that contains `path`. Follows no symbolic link. On Linux, each
 * directory is opened from its parent, and `work` gets the path of the open descriptor: nothing can replace a directory by
 * a link in between. Elsewhere each is checked right before.
 *
 * @param create whether missing directories are created
 */
export function inParent<T>(root: string, path: string, create: boolean, work: (parent: string) => T): T {
  const directories = path.split('/').slice(0, -1);
  return HAS_DESCRIPTORS
    ? byDescriptors(root, directories, create, work)
    : byLooking(root, directories, create, work);
}

function byDescriptors<T>(
  root: string,
  directories: string[],
  create: boolean,
  work: (parent: string) => T,
): T {
  let descriptor = openSync(root, O_RDONLY | O_DIRECTORY);
  try {
    for (const name of directories) {
      const next = opened(join(addressOf(descriptor), name), create);
      closeSync(descriptor);
      descriptor = next;
    }
    return work(addressOf(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

const addressOf = (descriptor: number): string => `/proc/self/fd/${descriptor}`;

function opened(directory: string, create: boolean): number {
  const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  try {
    return openSync(directory, flags);
  } catch (error) {
    if (!create || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  makeDirectory(directory);
  return openSync(directory, flags);
}

function byLooking<T>(root: string, directories: string[], create: boolean, work: (parent: string) => T): T {
  let parent = root;
  for (const name of directories) {
    parent = join(parent, name);
    if (create && !lstatSync(parent, { throwIfNoEntry: false })) makeDirectory(parent);
    if (!lstatSync(parent).isDirectory())
      throw new DiskError('in-the-way', 'something else is in the place of a directory: move it elsewhere');
  }
  return work(parent);
}

function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
