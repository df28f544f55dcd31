import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { lstat, mkdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { normalizePath } from '../../src/automation/vault-crypto.js';
import { type Listing, type LocalFile, localFile, walk } from './walk.js';

/** The synced folder on disk. Takes the vault's paths, and never touches anything outside. */
export class Folder {
  private constructor(
    readonly root: string,
    /** beside the folder, on the same disk: what is half-written is never seen in the folder */
    private readonly staging: string,
  ) {}

  /** @param mayBeNew false when files of it are known: a folder that is gone, such as a disk not mounted, is no mass deletion */
  static async open(root: string, staging: string, mayBeNew: boolean): Promise<Folder> {
    if (!mayBeNew && !(await statOf(root))) throw new Error(`${root} is gone, but files of it are known`);
    await mkdir(root, { recursive: true });
    await rm(staging, { recursive: true, force: true });
    await mkdir(staging, { recursive: true });
    return new Folder(root, staging);
  }

  /** All files. Names in another Unicode form are renamed to the vault's form, so that each path has one file. */
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

  /** Whether there is no file any more. False when that cannot be told: what cannot be seen is not deleted. */
  async isGone(path: string): Promise<boolean> {
    const stat = await statOf(this.onDisk(path)).catch(() => 'unknown' as const);
    return stat !== 'unknown' && (stat === undefined || stat.isDirectory());
  }

  read(path: string): Promise<Buffer> {
    return readFile(this.onDisk(path));
  }

  /** Writes a content to the disk, but not yet into the folder. @returns the draft to `place` */
  async stage(content: Uint8Array): Promise<string> {
    const draft = join(this.staging, randomUUID());
    await writeFile(draft, content, { flush: true });
    return draft;
  }

  /** Makes a draft the file at a path. What stood there is replaced, whole or not at all. */
  async place(draft: string, path: string): Promise<LocalFile> {
    const onDisk = await this.placeFor(path);
    await rename(draft, onDisk);
    const lookedAtMs = Date.now();
    return localFile(path, onDisk, await lstat(onDisk), lookedAtMs);
  }

  async discard(draft: string): Promise<void> {
    await rm(draft);
  }

  /** A file where the path has a directory, or a directory where the path has a file. An empty one is removed instead. */
  async obstacleTo(path: string): Promise<string | undefined> {
    const segments = path.split('/');
    for (let depth = 1; depth < segments.length; depth++) {
      const parent = segments.slice(0, depth).join('/');
      if ((await statOf(this.onDisk(parent)))?.isFile()) return parent;
    }
    const onDisk = this.onDisk(path);
    return (await statOf(onDisk))?.isDirectory() && !(await removeIfEmpty(onDisk)) ? path : undefined;
  }

  /** Removes the file, and the directories that are empty then. */
  async remove(path: string): Promise<void> {
    await rm(this.onDisk(path));
    await this.removeEmptyParents(path);
  }

  /** Gives a file or a directory a name that nothing has: `plan.md` becomes `plan (conflict from laptop).md`. @returns the new path */
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

  /** Makes the directories on the way. Refuses to follow a symbolic link, which may lead out of the folder, or to replace one. */
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

/** @returns whether the directory was empty, and is gone now */
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
