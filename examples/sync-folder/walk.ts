import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidPathError, normalizePath } from '../../src/automation/vault-crypto.js';

export interface LocalFile {
  /** path below the folder in the vault's form: NFC, separated by `/` */
  readonly path: string;
  /** path on this disk, whose name may be in another Unicode form */
  readonly onDisk: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  readonly ino: number;
  /** time just before the metadata was read */
  readonly lookedAtMs: number;
}

/** @param lookedAtMs taken before `stats` */
export function localFile(path: string, onDisk: string, stats: Stats, lookedAtMs: number): LocalFile {
  const { size, mtimeMs, ctimeMs, ino } = stats;
  return { path, onDisk, size, mtimeMs, ctimeMs, ino, lookedAtMs };
}

/** Something that was skipped, and why. */
export interface Skipped {
  readonly path: string;
  readonly reason: string;
}

export interface Listing {
  readonly files: LocalFile[];
  readonly skipped: Skipped[];
}

const IGNORED = new Set(['.git', 'node_modules']);

/** Every regular file below `root`, ordered by name. @param except a directory to leave out */
export async function walk(root: string, except?: string): Promise<Listing> {
  const files = new Map<string, LocalFile>();
  const skipped: Skipped[] = [];

  async function visit(directory: string, prefix: string): Promise<void> {
    for (const entry of await entriesOf(directory)) {
      const onDisk = join(directory, entry.name);
      const path = prefix + entry.name.normalize('NFC');
      if (entry.isDirectory() && (IGNORED.has(entry.name) || onDisk === except)) continue;
      try {
        if (entry.isDirectory()) await visit(onDisk, `${path}/`);
        else files.set(...(await fileAt(path, onDisk, entry)));
      } catch (error) {
        skipped.push({ path: prefix + entry.name, reason: reasonToSkip(error) }); // as named on disk
      }
    }
  }

  async function fileAt(path: string, onDisk: string, entry: Dirent): Promise<[string, LocalFile]> {
    if (entry.isSymbolicLink()) throw new Skip('a symbolic link');
    if (!entry.isFile()) throw new Skip('not a regular file');
    if (files.has(path)) throw new Skip('another file has the same name in another Unicode form');
    const lookedAtMs = Date.now();
    return [path, localFile(normalizePath(path), onDisk, await lstat(onDisk), lookedAtMs)];
  }

  await visit(root, '');
  return { files: [...files.values()], skipped };
}

class Skip extends Error {}

/** A readable reason why a file or directory is skipped. @throws the error itself when it is not such a reason */
export function reasonToSkip(error: unknown): string {
  if (error instanceof Skip || error instanceof InvalidPathError) return error.message;
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'EACCES' || code === 'EPERM') return 'not readable';
  if (code === 'ENOENT') return 'deleted while it was being read, or its name is not UTF-8';
  throw error;
}

/** Ordered by name, NFC names first: of two files with the same normalized name, the first one counts. */
async function entriesOf(directory: string): Promise<Dirent[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const rank = ({ name }: Dirent): string => (name === name.normalize('NFC') ? '0' : '1') + name;
  return entries.sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}
