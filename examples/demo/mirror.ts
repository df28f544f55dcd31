import { copyFile, mkdir, readFile, rm, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { reasonToSkip, type Skipped, walk } from './walk.js';

/**
 * Makes `copy` equal to `source`, which is only read. Leaves unchanged files and their times as they are, so that the sync
 * need not read them again.
 *
 * @param except a directory below `source` to leave out
 * @returns what could not be copied
 */
export async function mirror(source: string, copy: string, except: string): Promise<Skipped[]> {
  await mkdir(copy, { recursive: true });
  const { files, skipped } = await walk(source, except);
  const { files: present } = await walk(copy);

  for (const [path, { onDisk }] of present) if (!files.has(path)) await rm(onDisk);

  for (const [path, { onDisk, size, mtimeMs, ctimeMs }] of files) {
    const there = present.get(path);
    // If another file was moved here since, its ctime is later than that of the copy.
    const isOlder = there && ctimeMs < there.ctimeMs;
    if (isOlder && there.size === size && Math.abs(there.mtimeMs - mtimeMs) < 1) continue;
    const place = join(copy, path);
    try {
      await rm(place, { recursive: true, force: true }); // an empty directory, or a read-only file
      await mkdir(dirname(place), { recursive: true });
      await copyFile(onDisk, place);
      await utimes(place, mtimeMs / 1_000, mtimeMs / 1_000);
    } catch (error) {
      skipped.push({ path, reason: reasonToSkip(error) });
    }
  }
  return skipped;
}

export interface Comparison {
  readonly files: number;
  readonly bytes: number;
  readonly differences: string[];
}

/** Compares two folders byte for byte. @param leftOut files and directories to ignore, @param except as in mirror */
export async function compare(
  a: string,
  b: string,
  leftOut: ReadonlySet<string> = new Set(),
  except?: string,
): Promise<Comparison> {
  const isLeftOut = (path: string): boolean =>
    leftOut.has(path) || [...leftOut].some((directory) => path.startsWith(`${directory}/`));
  const filesOf = async (root: string): Promise<Map<string, string>> => {
    const { files } = await walk(root, except);
    return new Map(
      [...files].filter(([path]) => !isLeftOut(path)).map(([path, { onDisk }]) => [path, onDisk]),
    );
  };
  const [inA, inB] = [await filesOf(a), await filesOf(b)];
  const differences: string[] = [];
  let bytes = 0;
  for (const [path, onDisk] of inA) {
    const other = inB.get(path);
    if (other === undefined) {
      differences.push(`${path} is missing in ${b}`);
      continue;
    }
    const content = await readFile(onDisk);
    bytes += content.length;
    if (!content.equals(await readFile(other))) differences.push(`${path} differs between ${a} and ${b}`);
  }
  for (const path of inB.keys()) if (!inA.has(path)) differences.push(`${path} is missing in ${a}`);
  return { files: inA.size, bytes, differences };
}
