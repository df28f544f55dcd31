import { createReadStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import {
  type Configuration,
  isInS3,
  OperatorError,
  removeTree,
  syncDirectory,
  writeDurably,
} from '../../platform/config/index.js';
import {
  BackupParts,
  BucketParts,
  MANIFEST,
  parsed,
  PARTIAL,
  readManifest,
  SCHEDULED,
  stampOf,
  surplusOf,
  UNVERIFIED,
  withObjects,
} from './backup-parts.js';
import { DirectoryMark, unusableDirectory } from './backup-places.js';
import {
  type BackupState,
  BackupTarget,
  type Draft,
  type ListedBackup,
  type Names,
  NO_NAMES,
  oldestFirst,
} from './backup-target.js';

/** A backup in a directory that only the user of the service can read. */
export class DirectoryParts extends BackupParts {
  readonly name: string;

  constructor(path: string) {
    super();
    this.name = resolve(path);
  }

  async begin(): Promise<void> {
    await mkdir(this.name, { recursive: true, mode: 0o700 });
    const names = await readdir(this.name);
    if (names.length > 0)
      throw new OperatorError(`${this.name} is not empty; a backup needs an empty directory.`);
    for (const name of ['tables', 'blobs']) await mkdir(this.pathOf(name), { mode: 0o700 });
  }

  async write(path: string, chunks: AsyncIterable<Buffer>): Promise<void> {
    const file = this.pathOf(path);
    if (dirname(path).includes('/')) await makeDirectory(dirname(file)); // `begin` has made the others
    try {
      await writeDurably(file, chunks);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rm(file, { force: true });
      throw error;
    }
  }

  async complete(path: string, text: string): Promise<void> {
    await this.syncNames();
    const draft = this.pathOf(`${path}.draft`);
    await writeDurably(draft, [Buffer.from(text)]);
    await rename(draft, this.pathOf(path));
    await syncDirectory(this.name);
  }

  /** Opens the file on first read: a stream that fails to open while nobody reads it would end the process. */
  async *read(path: string): AsyncGenerator<Buffer, void> {
    for await (const chunk of createReadStream(this.pathOf(path))) yield chunk as Buffer;
  }

  /** A file survives a power failure only when its directory entry does. */
  private async syncNames(): Promise<void> {
    const blobs = this.pathOf('blobs');
    for (const name of await readdir(blobs)) await syncDirectory(join(blobs, name));
    await syncDirectory(blobs);
    await syncDirectory(this.pathOf('tables'));
  }

  private pathOf(path: string): string {
    return join(this.name, path);
  }
}

/** Not `recursive`: a draft that another run has removed must not come back. */
async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/**
 * BACKUP_DIR as a directory. The prefix of a name is the state of the backup: `partial-` while it is made, verified or removed,
 * so that a backup with another prefix is never incomplete; `scheduled-` when it is verified; `unverified-` when its verification
 * has failed. Other names belong to the operator. Every change requires the lock of the backups.
 */
export class BackupDirectory extends BackupTarget {
  readonly path: string;
  readonly mark: DirectoryMark;

  constructor(path: string) {
    super();
    this.path = resolve(path);
    this.mark = new DirectoryMark(this.path);
  }

  async begin(now: Date): Promise<Draft> {
    try {
      if (!(await stat(this.path)).isDirectory()) throw Object.assign(new Error(), { code: 'ENOTDIR' });
      await this.removeAll(PARTIAL);
      const stamp = stampOf(now);
      const scratch = join(this.path, `${PARTIAL}trial-${stamp}`);
      await mkdir(scratch, { mode: 0o700 });
      return { stamp, draft: join(this.path, PARTIAL + stamp), scratch };
    } catch (error) {
      throw unusableDirectory(this.path, error);
    }
  }

  async publish(draft: string, stamp: string, spared = NO_NAMES): Promise<void> {
    await rename(draft, join(this.path, SCHEDULED + stamp));
    await syncDirectory(this.path);
    await this.removeAll(UNVERIFIED, spared);
  }

  async setAside(draft: string, stamp: string, spared = NO_NAMES): Promise<string> {
    const name = UNVERIFIED + stamp;
    await rename(draft, join(this.path, name));
    await syncDirectory(this.path);
    await this.removeAll(UNVERIFIED, new Set([...spared, name]));
    return name;
  }

  async prune(keep: number, newest: string, spared = NO_NAMES): Promise<number> {
    const own = (await this.named(SCHEDULED)).filter((name) => !spared.has(name));
    const surplus = surplusOf(own, keep, newest);
    for (const name of surplus) await this.remove(name);
    return surplus.length;
  }

  async list(): Promise<ListedBackup[]> {
    const entries = await readdir(this.path, { withFileTypes: true }).catch((error: unknown) => {
      throw unusableDirectory(this.path, error);
    });
    const all: ListedBackup[] = [];
    for (const { name } of entries.filter((entry) => entry.isDirectory())) {
      if (name.startsWith(`${PARTIAL}trial-`)) continue;
      const manifest = await readManifest(new DirectoryParts(join(this.path, name))).catch(() => undefined);
      const state = stateOf(name, manifest !== undefined);
      if (state) all.push({ name, state, ...(manifest && { manifest }) });
    }
    return oldestFirst(all);
  }

  async discard(path: string): Promise<void> {
    await rm(join(path, MANIFEST), { force: true }); // first: what is left is not a backup
    await removeTree(path);
  }

  private async removeAll(prefix: string, except: Names = NO_NAMES): Promise<void> {
    for (const name of await this.named(prefix)) if (!except.has(name)) await this.remove(name);
  }

  private async named(prefix: string): Promise<string[]> {
    const entries = await readdir(this.path, { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory()) // a link leads to a backup that the operator has moved
      .map(({ name }) => name)
      .filter((name) => parsed(name)?.prefix === prefix);
  }

  /**
   * Renames a backup before removing it: under its own name, it is never incomplete. A draft is renamed too, because its run may
   * still be alive without the lock, and must not publish a half-removed draft.
   */
  private async remove(name: string): Promise<void> {
    const path = join(this.path, name);
    const doomed = join(this.path, doomedName(name));
    if (doomed !== path) await rename(path, doomed);
    await syncDirectory(this.path);
    await this.discard(doomed);
  }
}

/** `partial-scheduled-TIME`, and `partial-removed-TIME` for a draft. */
function doomedName(name: string): string {
  if (!name.startsWith(PARTIAL)) return PARTIAL + name;
  return name.replace(/^partial-(?=\d)/, `${PARTIAL}removed-`);
}

function stateOf(name: string, isComplete: boolean): BackupState | undefined {
  const prefix = parsed(name)?.prefix;
  if (prefix === PARTIAL) return 'partial';
  if (prefix === undefined) return isComplete ? 'by hand' : undefined; // undefined: not a backup
  if (!isComplete) return 'damaged';
  return prefix === SCHEDULED ? 'verified' : 'unverified';
}

/** Resolves the place in an argument: a directory to its absolute path; a place in S3 stays as it is. */
export const placeOf = (argument: string): string => (isInS3(argument) ? argument : resolve(argument));

/** Opens the backup at a place, a directory or `s3://bucket/prefix`, for `work`. @throws OperatorError for a malformed place */
export const withParts = <T>(
  place: string,
  { backupStore }: Configuration,
  work: (parts: BackupParts) => Promise<T>,
): Promise<T> =>
  withObjects(place, backupStore, (objects) =>
    work(objects ? new BucketParts(place, objects) : new DirectoryParts(place)),
  );
