import { closeSync, lstatSync, openSync, readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Traits } from './names.js';

/** Longest path that Linux opens, minus room for the path of the folder itself. */
const MAX_PATH_BYTES = 3_056;

/** Determines the naming rules of a directory's disk by experiment. Leaves nothing behind. */
export function probeTraits(directory: string): Traits {
  const has = (name: string): boolean =>
    lstatSync(join(directory, name), { throwIfNoEntry: false }) !== undefined;
  const tried = <T>(name: string, look: () => T): T | undefined => {
    if (!create(join(directory, name))) return undefined;
    try {
      return look();
    } finally {
      unlinkSync(join(directory, name));
    }
  };
  const prefix = `probe-${process.pid}-`;
  const wide = `${prefix}${'\u4e00'.repeat(120)}`; // 360 bytes, 120 units
  return {
    foldsCase: tried(`${prefix}case`, () => has(`${prefix}CASE`)) ?? false,
    foldsUnicode:
      tried(
        `${prefix}\u00e9`,
        () => has(`${prefix}e\u0301`) || !readdirSync(directory).includes(`${prefix}\u00e9`),
      ) ?? false,
    nameUnit: tried(wide, () => true) ? 'utf16' : 'bytes',
    maxName: 255,
    maxPathBytes: MAX_PATH_BYTES,
    windowsCharacters: tried(`${prefix}a:b`, () => readdirSync(directory).includes(`${prefix}a:b`)) !== true,
    windowsDevices: process.platform === 'win32',
  };
}

function create(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx'));
    return true;
  } catch {
    return false;
  }
}
