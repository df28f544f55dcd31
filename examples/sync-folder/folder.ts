import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, mkdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { normalizePath } from '../../src/automation/vault-crypto.js';
import { type Listing, type LocalFile, localFile, walk } from './walk.js';

/** The synced folder on disk. Accepts vault paths and never touches anything outside the folder. */
export class Folder {
  private constructor(
    readonly root: string,
    /** next to the folder, on the same disk: partially written files never appear in the folder */
    private readonly staging: string,
  ) {}

  /**
   * @param mayBeNew false when files in it are known: a missing folder, such as an unmounted disk, is not a mass
   * deletion
   */
  static async open(root: string, staging: string, mayBeNew: boolean): Promise<Folder> {
    if (!mayBeNew && !(await statOf(root)))
      throw new Error(`${root} does not exist, but it was synced before`);
    await mkdir(root, { recursive: true });
    await rm(staging, { recursive: true, force: true });
    await mkdir(staging, { recursive: true });
    return new Folder(root, staging);
  }

  /**
   * Lists all files. Renames files whose names use another Unicode form to the vault's form, so that each path has
   * one file.
   */
  async list(): Promise<Listing> {
    const listing = await walk(this.root);
    for (const file of listing.files) {
      const place = this.onDisk(file.path);
      if (file.onDisk !== place && !(await statOf(place))) await this.move(file.onDisk, file.path);
    }
    return listing;
  }

  /** The regular file at a path, if there is one. */
  async look(path: string): Promise<LocalFile | undefined> {
    const onDisk = this.onDisk(path);
    const lookedAtMs = Date.now();
    const stat = await statOf(onDisk);
    return stat?.isFile() ? localFile(path, onDisk, stat, lookedAtMs) : undefined;
  }

  /** Whether the file no longer exists. False when this is unknown: a file that cannot be checked is not deleted. */
  async isGone(path: string): Promise<boolean> {
    const stat = await statOf(this.onDisk(path)).catch(() => 'unknown' as const);
    return stat !== 'unknown' && (stat === undefined || stat.isDirectory());
  }

  read(path: string): Promise<Buffer> {
    return readFile(this.onDisk(path));
  }

  /** Writes content to disk, but not into the folder yet. @returns the draft to pass to `place` */
  async stage(content: Uint8Array): Promise<string> {
    const draft = join(this.staging, randomUUID());
    await writeFile(draft, content, { flush: true });
    return draft;
  }

  /** Moves a draft to a path, atomically replacing an existing file. */
  async place(draft: string, path: string): Promise<LocalFile> {
    const onDisk = await this.placeFor(path);
    await rename(draft, onDisk);
    const lookedAtMs = Date.now();
    return localFile(path, onDisk, await lstat(onDisk), lookedAtMs);
  }

  async discard(draft: string): Promise<void> {
    await rm(draft);
  }

  /**
   * A file where the path needs a directory, or a directory where the path needs a file. An empty directory is
   * removed instead.
   */
  async obstacleTo(path: string): Promise<string | undefined> {
    const segments = path.split('/');
    for (let depth = 1; depth < segments.length; depth++) {
      const parent = segments.slice(0, depth).join('/');
      if ((await statOf(this.onDisk(parent)))?.isFile()) return parent;
    }
    const onDisk = this.onDisk(path);
    return (await statOf(onDisk))?.isDirectory() && !(await removeIfEmpty(onDisk)) ? path : undefined;
  }

  /** Removes the file and any parent directories that become empty. */
  async remove(path: string): Promise<void> {
    await rm(this.onDisk(path));
    await this.removeEmptyParents(path);
  }

  /**
   * Renames a file or directory to an unused name: `plan.md` becomes `plan (conflict from laptop).md`. @returns the
   * new path
   */
  async moveAside(path: string, remark: string): Promise<string> {
    const [, stem = path, extension = ''] = /^(.*[^/])(\.[^./]*)$/.exec(path) ?? [];
    for (let count = 1; ; count++) {
      const aside = `${stem} (${count === 1 ? remark : `${remark} ${count}`})${extension}`;
      if (await statOf(this.onDisk(aside))) continue;
      await this.move(this.onDisk(path), aside);
      return aside;
    }
  }

  private async move(from: string, path: string): Promise<void> {
    await rename(from, await this.placeFor(path));
  }

  /**
   * Creates missing parent directories. Refuses to follow a symbolic link, which may lead out of the folder, or to
   * replace one.
   */
  private async placeFor(path: string): Promise<string> {
    const place = this.onDisk(path);
    let directory = this.root;
    for (const segment of path.split('/').slice(0, -1)) {
      directory = join(directory, segment);
      const present = await statOf(directory);
      if (!present) await mkdir(directory, { recursive: true });
      else if (!present.isDirectory()) throw new Error(`${directory} is in the way of ${path}`);
    }
    const present = await statOf(place);
    if (present && !present.isFile()) throw new Error(`${place} is in the way: it is not a regular file`);
    return place;
  }

  private async removeEmptyParents(path: string): Promise<void> {
    for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
      if (!(await removeIfEmpty(this.onDisk(parent)))) return;
    }
  }

  /** @throws InvalidPathError for a path that could lead out of the folder */
  private onDisk(path: string): string {
    const safe = normalizePath(path);
    if (sep !== '/' && safe.includes(sep)) throw new Error(`${path} cannot be a file name on this system`);
    return join(this.root, ...safe.split('/'));
  }
}

/** @returns whether the directory was empty and has been removed */
function removeIfEmpty(directory: string): Promise<boolean> {
  return rmdir(directory).then(
    () => true,
    () => false,
  );
}

async function statOf(onDisk: string): Promise<Stats | undefined> {
  try {
    return await lstat(onDisk);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}
