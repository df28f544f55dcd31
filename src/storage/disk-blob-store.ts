import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readdir, rename, rm, rmdir, stat, unlink, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { heirOf, syncDirectory, writeDurably } from '../config/index.js';
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
 * Blobs as files under one directory. A file appears complete under its final name or not at all: temporary file,
 * fsync, rename, fsync of the directory. Keys are `workspace/blob`, both made here: no client byte gets into a path.
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
   * Opens the store, and makes its directory if need be. A file is written to it, so that what cannot be written is
   * found out at start and not by the first upload.
   * @param root absolute
   * @throws the error of the file system
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
      await writeDurably(draft, chunks, await heirOf(dirname(path)));
      await rename(draft, path);
      await syncDirectory(dirname(path));
      await this.directories.expectRoot();
    } catch (error) {
      await this.removeAgain([draft, path]);
      // The sweeper has taken an upload for dead that was only slow.
      if (isAbsent(error))
        throw new StoreUnavailable('the draft of an upload has gone', RETRY_SECONDS, error);
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

  /** A draft lies beside its key and goes with it. */
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

  /** An upload that has failed leaves nothing. */
  private async removeAgain(paths: string[]): Promise<void> {
    try {
      for (const path of paths) await rm(path, { force: true });
      await this.directories.expectRoot();
    } catch (error) {
      throw new OutcomeUnknown('an upload that failed could not be removed', RETRY_SECONDS, error);
    }
  }

  /** @throws the error of a look when it tells anything but that nothing is there; StoreUnavailable */
  private async expectAbsence(error: unknown): Promise<void> {
    if (!isAbsent(error)) throw error;
    await this.directories.expectRoot();
  }

  private pathOf(key: string): string {
    const [workspace, blob] = key.split('/');
    if (!KEY.test(key) || !workspace || !blob) throw new Error('not a blob key');
    // The end of a time-ordered id is its random part, so files spread evenly over 256 directories.
    return join(this.root, workspace, blob.slice(-2), blob);
  }
}

function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

/** What rmdir says of a directory that is in use, gone, or none. */
const NOT_TO_REMOVE = new Set(['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR']);

/** Removes a directory that has nothing in it; any other stays. */
async function removeEmpty(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    if (!NOT_TO_REMOVE.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
