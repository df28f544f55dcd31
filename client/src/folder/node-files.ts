import { type BigIntStats, chmodSync, fstatSync, linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { DiskError } from './errors.js';
import { onDisk } from './node-errors.js';
import type { Entry, Stat } from './ports.js';
import { isSameStat } from './stamps.js';

export function entryOf(address: string, name: string): Entry | undefined {
  const stat = lstatSync(join(address, name), { bigint: true, throwIfNoEntry: false });
  // Bytes that are not UTF-8 appear as U+FFFD, and that name finds nothing.
  const isUnnameable = !stat && name.includes('\ufffd');
  if (isUnnameable) return { name: undefined, shown: name, stat: NOTHING };
  return stat && { name, shown: name, stat: statOf(stat) };
}

/** The stat of an entry that cannot be named. */
const NOTHING: Stat = { kind: 'other', size: 0, mtimeNs: 0n, ctimeNs: 0n, ino: 0n };

export function statOf(stat: BigIntStats): Stat {
  const { size, mtimeNs, ctimeNs, ino } = stat;
  return { kind: kindOf(stat), size: Number(size), mtimeNs, ctimeNs, ino };
}

function kindOf(stat: BigIntStats): Stat['kind'] {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'directory';
  return stat.isSymbolicLink() ? 'link' : 'other';
}

/** @throws DiskError when it is another file than `expected` */
export function checkSame(target: string, expected: Stat): void {
  const stat = lstatSync(target, { bigint: true, throwIfNoEntry: false });
  if (!stat || !isSameStat(statOf(stat), expected)) throw new DiskError('changed', 'it is another file now');
}

export async function mustBe(descriptor: number, expected: Stat): Promise<void> {
  const stat = await onDisk(() => fstatSync(descriptor, { bigint: true }));
  if (!isSameStat(statOf(stat), expected)) throw new DiskError('changed', 'it is another file now');
}

/** A file that only its owner can read stays private when it is replaced. */
export function copyPermissions(from: string, to: string): void {
  const stat = lstatSync(from);
  if (stat.isFile()) chmodSync(to, stat.mode & 0o777);
}

/** Uses a hard link, which fails when the name is taken; a rename would replace the file. */
export function moveToFreeName(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV'].includes(code)) throw error;
    // The disk has no hard links.
    if (lstatSync(target, { throwIfNoEntry: false })) throw new DiskError('exists', 'the name is taken');
    renameSync(source, target);
    return;
  }
  unlinkSync(source);
}
