import { createHash, type Hash } from 'node:crypto';
import { DiskError } from './errors.js';
import type { Clock, Disk, DiskPath, Stat } from './ports.js';
import { isProof, isSameStat, tickOf } from './stamps.js';

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A content's hash with the stat of its file. */
export interface Looked {
  readonly hash: string;
  readonly stat: Stat;
  /** milliseconds, taken before the content was read */
  readonly lookedAt: number;
}

export async function* hashedInto(
  hash: Hash,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

/** @throws DiskError `full` when fewer than `bytes` are free */
export async function checkRoom(disk: Disk, bytes: number): Promise<void> {
  const free = await disk.freeBytes();
  if (free === undefined || free >= bytes) return;
  const needed = `${Math.ceil(bytes / 1e6)} MB are needed, ${Math.floor(free / 1e6)} MB are free`;
  throw new DiskError('full', `the disk is too full (${needed}): make room`);
}

/** Hashes a file without holding it. @throws DiskError `changed` when it was replaced, or is being written */
export async function hashOf(disk: Disk, clock: Clock, path: DiskPath, stat: Stat): Promise<Looked> {
  const lookedAt = clock.now();
  const hash = createHash('sha256');
  for await (const chunk of disk.read(path, stat)) hash.update(chunk);
  return { hash: hash.digest('hex'), stat, lookedAt };
}

/** Reads a whole file. @throws DiskError as `hashOf` */
export async function contentOf(
  disk: Disk,
  clock: Clock,
  path: DiskPath,
  stat: Stat,
): Promise<Looked & { readonly content: Uint8Array }> {
  const lookedAt = clock.now();
  const content = new Uint8Array(stat.size);
  let length = 0;
  for await (const chunk of disk.read(path, stat)) {
    if (length + chunk.length > stat.size) throw new DiskError('changed', 'the file grows while it is read');
    content.set(chunk, length);
    length += chunk.length;
  }
  if (length < stat.size) throw new DiskError('changed', 'the file shrinks while it is read');
  return { hash: sha256(content), stat, lookedAt, content };
}

/**
 * Proves that a file has this content before it is replaced or removed: as long as its stat is equal, nothing was written
 * since. Waits when the last write is too recent for the resolution of the clock.
 * @returns the stat that proves it; undefined when the file differs, or cannot be proven now
 */
export async function proven(
  disk: Disk,
  clock: Clock,
  path: DiskPath,
  expected: Stat,
  plainHash: string,
): Promise<Stat | undefined> {
  for (let attempt = 0; attempt < 2; attempt++) {
    const stat = await disk.stat(path);
    if (stat?.kind !== 'file' || !isSameStat(stat, expected)) return undefined;
    const { hash, lookedAt } = await hashOf(disk, clock, path, stat);
    if (hash !== plainHash) return undefined;
    if (isProof(stat, lookedAt)) return stat;
    await clock.sleep(tickOf(stat) + 1);
  }
  return undefined;
}
