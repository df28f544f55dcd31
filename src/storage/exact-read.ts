import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { BlobMissing, type ByteRange } from './blob-store.js';

const READ_CHUNK_BYTES = 64 * 1024;

/**
 * Streams exactly this range and closes the file. A file that became shorter meanwhile makes the stream fail: with a
 * stream that just ends, the client would wait for the rest that Content-Length has promised.
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
