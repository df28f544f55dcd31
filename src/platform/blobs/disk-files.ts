import { open, rmdir, type FileHandle } from 'node:fs/promises';

/** What rmdir says of a directory that is in use, gone, or none. */
const NOT_TO_REMOVE = new Set(['ENOTEMPTY', 'EEXIST', 'ENOENT', 'ENOTDIR']);

/** Makes a file and syncs its bytes; its name is not durable yet. */
export async function writeFile(
  path: string,
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of chunks) await writeFully(file, chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function writeFully(file: FileHandle, chunk: Buffer): Promise<void> {
  for (let written = 0; written < chunk.length;) {
    written += (await file.write(chunk, written)).bytesWritten;
  }
}

/** Removes a directory that has nothing in it; any other stays. */
export async function removeEmpty(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    if (!NOT_TO_REMOVE.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}
