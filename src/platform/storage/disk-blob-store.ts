import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readdir, rename, rm, rmdir, stat, unlink, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { intendedOwnerOf, syncDirectory, writeDurably } from '../config/index.js';
import {
  BlobMissing,
  BlobStore,
  type ByteRange,
  OutcomeUnknown,
  type StoredObject,
  StoreUnavailable,
} from './blob-store.js';
import { exactly, listing } from './disk-reads.js';
import { DurableDirectories } from './durable-directories.js';

const KEY = /^[0-9a-f-]{36}\/[0-9a-f-]{36}$/;
const RETRY_SECONDS = 5;
const WORKSPACE = /^[0-9a-f-]{36}$/;

/**
 * Stores blobs as files under one directory. A file appears complete under its final name or not at all: temporary file,
 * fsync, rename, fsync of the directory. Keys are `workspace/blob`, both created by the service: no client input gets into a
 * path.
 */
export class DiskBlobStore extends BlobStore {
  readonly location = 'disk';

  private constructor(
    private readonly root: string,
    private readonly directories: DurableDirectories,
  ) {
    super();
  }

  /**
   * Opens the store, and creates its directory if necessary. Writes a test file, so that an unwritable store is detected at
   * start and not by the first upload.
   * @param root absolute
   * @throws the file system error
   */
  static async open(root: string): Promise<DiskBlobStore> {
    const directories = await DurableDirectories.under(root);
    const probe = join(root, `probe.${randomBytes(6).toString('hex')}`);
    try {
      await writeDurably(probe, [Buffer.from('probe')]);
    } finally {
      await rm(probe, { force: true });
    }
    return new DiskBlobStore(root, directories);
  }

  async put(key: string, chunks: AsyncIterable<Buffer>): Promise<void> {
    const path = this.pathOf(key);
    const draft = `${path}.tmp`;
    await this.directories.make(dirname(path));
    try {
      await writeDurably(draft, chunks, await intendedOwnerOf(dirname(path)));
      await rename(draft, path);
      await syncDirectory(dirname(path));
      await this.directories.expectRoot();
    } catch (error) {
      await this.removeAgain([draft, path]);
      // The sweeper has taken a slow upload for dead.
      if (isAbsent(error))
        throw new StoreUnavailable('the draft of an upload no longer exists', RETRY_SECONDS, error);
      throw error;
    }
  }

  async read(key: string, size: number, range?: ByteRange): Promise<Readable> {
    const file = await this.openForReading(key);
    try {
      const found = (await file.stat()).size;
      if (found !== size) throw new BlobMissing(key, new Error(`it has ${found} bytes instead of ${size}`));
    } catch (error) {
      await file.close();
      throw error;
    }
    return exactly(file, range ?? { start: 0, end: size - 1 }, key);
  }

  async delete(key: string): Promise<void> {
    const path = this.pathOf(key);
    await rm(`${path}.tmp`, { force: true });
    try {
      await unlink(path);
    } catch (error) {
      await this.expectAbsence(error);
    }
  }

  async sizeOf(key: string): Promise<number | undefined> {
    try {
      return (await stat(this.pathOf(key))).size;
    } catch (error) {
      await this.expectAbsence(error);
      return undefined;
    }
  }

  list(workspaceId?: string): AsyncIterable<StoredObject[]> {
    return listing(this.root, workspaceId);
  }

  /** A draft is next to its key and is deleted with it. */
  async clearDrafts(): Promise<number> {
    return Promise.resolve(0);
  }

  close(): void {
    // no file is held open
  }

  async tidy(workspaceId: string): Promise<void> {
    if (!WORKSPACE.test(workspaceId)) throw new Error('not a workspace id');
    const directory = join(this.root, workspaceId);
    const entries = await readdir(directory).catch(() => []);
    for (const path of [...entries.map((name) => join(directory, name)), directory]) await removeEmpty(path);
  }

  private async openForReading(key: string): Promise<FileHandle> {
    try {
      return await open(this.pathOf(key), constants.O_RDONLY | constants.O_NOFOLLOW);
    } catch (error) {
      await this.expectAbsence(error);
      throw new BlobMissing(key, error);
    }
  }

  /** A failed upload leaves nothing behind. */
  private async removeAgain(paths: string[]): Promise<void> {
    try {
      for (const path of paths) await rm(path, { force: true });
      await this.directories.expectRoot();
    } catch (error) {
      throw new OutcomeUnknown('a failed upload could not be deleted', RETRY_SECONDS, error);
    }
  }

  /** @throws the given error unless it means that the file does not exist; StoreUnavailable */
  private async expectAbsence(error: unknown): Promise<void> {
    if (!isAbsent(error)) throw error;
    await this.directories.expectRoot();
  }

  private pathOf(key: string): string {
    const [workspace, blob] = key.split('/');
    if (!KEY.test(key) || !workspace || !blob) throw new Error('not a blob key');
    // The end of a time-ordered id is random, so files spread evenly over 256 directories.
    return join(this.root, workspace, blob.slice(-2), blob);
  }
}

function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

/** The errors of rmdir for a directory that is in use or does not exist, or for a path that is not a directory. */
const NOT_TO_REMOVE = new Set(['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR']);

/** Removes a directory if it is empty. */
async function removeEmpty(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    if (!NOT_TO_REMOVE.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
