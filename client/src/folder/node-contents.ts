import { constants, read } from 'node:fs';
import { open, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { DiskError } from './errors.js';
import { onDisk } from './node-errors.js';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const readSome = promisify(read);
const CHUNK = 1024 * 1024;

/** Reads an open file from its position. @throws DiskError `changed` after `most` bytes: a growing file has no end */
export async function* chunksOf(descriptor: number, most: number): AsyncGenerator<Uint8Array, void> {
  const buffer = new Uint8Array(Math.min(CHUNK, most + 1));
  for (let length = 0; ;) {
    const { bytesRead } = await onDisk(() => readSome(descriptor, buffer, 0, buffer.length, null));
    if (bytesRead === 0) return;
    length += bytesRead;
    if (length > most) throw new DiskError('changed', 'the file grows while it is read');
    yield buffer.slice(0, bytesRead);
  }
}

/** Writes a new file and flushes it. Deletes it when that fails. */
export async function writeNew(path: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
  const file = await onDisk(() => open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666));
  try {
    const chunks = content instanceof Uint8Array ? [content] : content;
    for await (const chunk of chunks) await onDisk(() => file.writeFile(chunk)); // appends
    await onDisk(() => file.sync());
  } catch (error) {
    await unlink(path).catch(() => undefined);
    throw error;
  } finally {
    await file.close();
  }
}
