import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { intendedOwnerOf, syncDirectory, writeDurably } from '../config/index.js';
import {
  blobKey,
  BlobMissing,
  BlobStore,
  type ByteRange,
  idsIn,
  OutcomeUnknown,
  type StoredObject,
  StoreUnavailable,
} from './blob-store.js';
import { DurableDirectories } from './durable-directories.js';

const PAGE = 1000;
const DRAFT = /\.tmp$/;

/** Lists the blobs of a directory workspace by workspace, including drafts of uploads in progress. */
export async function* listing(root: string, workspaceId?: string): AsyncGenerator<StoredObject[]> {
  for (const workspace of workspaceId === undefined ? await namesIn(root) : [workspaceId]) {
    const found: { key: string; path: string }[] = [];
    for (const directory of await namesIn(join(root, workspace))) {
      for (const name of await namesIn(join(root, workspace, directory))) {
        const key = blobKey(workspace, name.replace(DRAFT, ''));
        if (idsIn(key)) found.push({ key, path: join(root, workspace, directory, name) });
      }
    }
    for (let at = 0; at < found.length; at += PAGE) yield await looked(found.slice(at, at + PAGE));
  }
}

async function looked(found: { key: string; path: string }[]): Promise<StoredObject[]> {
  const objects: StoredObject[] = [];
  for (const { key, path } of found) {
    const stats = await stat(path).catch(ignoreGone);
    if (stats?.isFile()) objects.push({ key, size: stats.size, modifiedAt: stats.mtime });
  }
  return objects;
}

/** A path that was deleted in the meantime, or is not a directory, counts as empty. */
async function namesIn(directory: string): Promise<string[]> {
  return (await readdir(directory).catch(ignoreGone)) ?? [];
}

function ignoreGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
}

const READ_CHUNK_BYTES = 64 * 1024;

/**
 * Streams exactly this range and closes the file. The stream fails if the file has become shorter: if it just ended, the
 * client would wait for the rest that Content-Length has promised.
 */
export function exactly(file: FileHandle, { start, end }: ByteRange, key: string): Readable {
  let position = start;
  const next = async (): Promise<Buffer | null> => {
    const wanted = Math.min(READ_CHUNK_BYTES, end + 1 - position);
    if (wanted <= 0) return null;
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafeSlow(wanted), 0, wanted, position);
    if (bytesRead === 0) throw new BlobMissing(key, new Error(`it ends at byte ${position}`));
    position += bytesRead;
    return buffer.subarray(0, bytesRead);
  };
  const deliver = async (stream: Readable): Promise<void> => {
    try {
      stream.push(await next());
    } catch (error) {
      stream.destroy(error as Error);
    }
  };
  return new Readable({
    highWaterMark: READ_CHUNK_BYTES,
    read() {
      void deliver(this);
    },
    destroy(error, done) {
      file.close().then(
        () => done(error),
        (fault: unknown) => done(error ?? (fault as Error)),
      );
    },
  });
}

const RETRY_SECONDS = 5;
const WORKSPACE = /^[0-9a-f-]{36}$/;

/**
 * Stores blobs as files under one directory. A file appears complete under its final name or not at all: temporary file, fsync,
 * rename, fsync of the directory. Keys are `workspace/blob`, both created by the service: no client input is part of a path.
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
    const ids = idsIn(key);
    if (!ids) throw new Error('not a blob key');
    // The end of a time-ordered id is random, so files spread evenly over 256 directories.
    return join(this.root, ids.workspaceId, ids.id.slice(-2), ids.id);
  }
}

function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

/** The errors of rmdir for a directory that is in use or does not exist, or for a path that is not a directory. */
const NOT_TO_REMOVE = new Set(['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR']);

async function removeEmpty(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    if (!NOT_TO_REMOVE.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
