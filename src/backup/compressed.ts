import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

/** Compresses what is read. What breaks off the reading fails the iteration; what ends the iteration ends the reading. */
export function compressed(source: Readable, level?: number): AsyncIterable<Buffer> {
  const gzip = createGzip(level === undefined ? {} : { level });
  pipeline(source, gzip).catch(() => undefined); // its reader hears of it
  return gzip as AsyncIterable<Buffer>;
}
