import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { NodeDisk, readRules, type Rules, systemClock } from '../../client/src/folder/index.js';

export interface FoundFile {
  /** Path on this disk, whose names may have another Unicode form. */
  readonly onDisk: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
}

/** Something that was skipped, and why. */
export interface Skipped {
  readonly path: string;
  readonly reason: string;
}

export interface Listing {
  /** By path below the folder, in the vault's form: NFC, segments joined by `/`. */
  readonly files: Map<string, FoundFile>;
  readonly skipped: Skipped[];
}

/** Large, and not expected in notes. */
const IGNORED = new Set(['.git', 'node_modules']);

/** Every regular file below `root` that a device would sync, ordered by name. @param except a directory to leave out */
export async function walk(root: string, except?: string): Promise<Listing> {
  const walker = new Walker(await readRules(new NodeDisk(root), systemClock, {}), except);
  await walker.visit(root, '');
  return walker;
}

class Walker implements Listing {
  readonly files = new Map<string, FoundFile>();
  readonly skipped: Skipped[] = [];

  constructor(
    private readonly rules: Rules,
    private readonly except: string | undefined,
  ) {}

  async visit(directory: string, prefix: string): Promise<void> {
    for (const entry of await entriesOf(directory)) {
      const onDisk = join(directory, entry.name);
      const path = prefix + entry.name.normalize('NFC');
      if (this.isIgnored(entry, path, onDisk)) continue;
      try {
        if (entry.isDirectory()) await this.visit(onDisk, `${path}/`);
        else await this.add(path, onDisk, entry);
      } catch (error) {
        this.skipped.push({ path: prefix + entry.name, reason: reasonToSkip(error) }); // as named on disk
      }
    }
  }

  private isIgnored(entry: Dirent, path: string, onDisk: string): boolean {
    const left = this.rules.leftOut(path);
    if (left?.told) this.skipped.push({ path, reason: left.reason });
    if (!entry.isDirectory()) return left !== undefined;
    return IGNORED.has(entry.name) || onDisk === this.except || this.rules.skips(path);
  }

  private async add(path: string, onDisk: string, entry: Dirent): Promise<void> {
    if (entry.isSymbolicLink()) throw new Skip('a symbolic link');
    if (!entry.isFile()) throw new Skip('not a regular file');
    if (this.files.has(path)) throw new Skip('another file has the same name in another Unicode form');
    const { size, mtimeMs, ctimeMs } = await lstat(onDisk);
    this.files.set(path, { onDisk, size, mtimeMs, ctimeMs });
  }
}

class Skip extends Error {}

/** A readable reason why a file or directory is skipped. @throws the error itself when it is not such a reason */
export function reasonToSkip(error: unknown): string {
  if (error instanceof Skip) return error.message;
  const { code } = error as NodeJS.ErrnoException;
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
