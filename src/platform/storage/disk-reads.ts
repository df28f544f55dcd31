import { type FileHandle, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { blobKey, BlobMissing, type ByteRange, idsIn, type StoredObject } from './blob-store.js';

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
