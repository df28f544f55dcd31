import type { DiskPath, Stat } from './ports.js';

/** The server's version of a path. */
export interface RemoteEntry {
  readonly contentHash: string;
  readonly encryptedSize: number;
  readonly version: number;
}

/** A regular file that a scan saw. */
export interface LocalFile {
  readonly diskPath: DiskPath;
  readonly stat: Stat;
  /** SHA-256 of the content that had this `stat`, if it was read */
  readonly hash?: string;
}

/** The last state of a path on which folder and server agreed. */
export interface SyncedEntry {
  readonly plainHash: string;
  readonly contentHash: string;
  readonly version: number;
  readonly size: number;
  /** the file's stat when the content was known to be this; undefined when it was too recent to prove that */
  readonly stat: Stat | undefined;
  /**
   * The server has confirmed this version, but the log has not shown it yet. A server restored from a backup may have lost
   * it, although it knows the cursor.
   */
  readonly isAhead?: boolean;
}

/** A path that is not synced, with a sentence that says why and what to do. */
export interface HeldBack {
  readonly path: string;
  readonly reason: string;
}

export interface LocalTree {
  readonly files: ReadonlyMap<string, LocalFile>;
  /** directories by vault path, with their spelling on the disk */
  readonly directories: ReadonlyMap<string, DiskPath>;
  /** entries that cannot be synced: neither an edit nor a deletion, and they block other files */
  readonly heldBack: ReadonlyMap<string, string>;
  /** directories that could not be read: nothing below them counts as deleted */
  readonly unreadable: ReadonlyMap<string, string>;
}

export type RemoteTree = ReadonlyMap<string, RemoteEntry>;
export type SyncedTree = ReadonlyMap<string, SyncedEntry>;

/** The directories above a path, outermost first. */
export function parentsOf(path: string): string[] {
  const parents = [];
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) parents.push(path.slice(0, at));
  return parents;
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

export const joined = (directory: string, name: string): string =>
  directory === '' ? name : `${directory}/${name}`;

/** Whether a path is at or below one of these paths. */
export function isWithin(path: string, places: { has(path: string): boolean }): boolean {
  return places.has(path) || places.has('') || parentsOf(path).some((parent) => places.has(parent));
}
