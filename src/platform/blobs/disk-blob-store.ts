import { constants } from 'node:fs';
import { mkdir, open, rename, rm, unlink, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { BlobMissing, BlobStore, type ByteRange } from './blob-store.js';

const KEY = /^[0-9a-f-]{36}\/[0-9a-f-]{36}$/;
const READ_CHUNK_BYTES = 64 * 1024;

/**
 * Blobs as files under one directory. A file appears complete under its final name or not at all: temporary file,
 * fsync, rename, fsync of the directory. Keys are `workspace/blob`, both made here: no client byte gets into a path.
 */
export class DiskBlobStore extends BlobStore {
  readonly location = 'disk';

  constructor(private readonly root: string) {
    super();
  }

  async put(key: string, chunks: AsyncIterable<Buffer>): Promise<void> {
    const path = this.pathOf(key);
    const draft = `${path}.tmp`;
    await makeDirectory(dirname(path), this.root);
    try {
      const file = await open(draft, 'wx', 0o600);
      try {
        for await (const chunk of chunks) await writeFully(file, chunk);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, path);
      await syncDirectory(dirname(path));
    } catch (error) {
      await rm(draft, { force: true });
      await rm(path, { force: true });
      throw error;
    }
  }

  async read(key: string, range?: ByteRange): Promise<Readable> {
    try {
      const file = await open(this.pathOf(key), constants.O_RDONLY | constants.O_NOFOLLOW);
      return file.createReadStream({ ...range, highWaterMark: READ_CHUNK_BYTES });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new BlobMissing(key, error);
      throw error;
    }
  }

  async delete(key: string): Promise<void> {
    const path = this.pathOf(key);
    await rm(`${path}.tmp`, { force: true });
    try {
      await unlink(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
  }

  private pathOf(key: string): string {
    const [workspace, blob] = key.split('/');
    if (!KEY.test(key) || !workspace || !blob) throw new Error('not a blob key');
    // The end of a time-ordered id is its random part, so files spread evenly over 256 directories.
    return join(this.root, workspace, blob.slice(-2), blob);
  }
}

async function writeFully(file: FileHandle, chunk: Buffer): Promise<void> {
  for (let written = 0; written < chunk.length;) {
    written += (await file.write(chunk, written)).bytesWritten;
  }
}

/** A new directory survives a crash only once its parent has been synced too. */
async function makeDirectory(directory: string, root: string): Promise<void> {
  const first = await mkdir(directory, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = directory; made.length > root.length; made = dirname(made))
    await syncDirectory(dirname(made));
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
