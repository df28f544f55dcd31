import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const MIB = 1024 ** 2;
const SEGMENT_BYTES = 16 * MIB;
const SMALLEST = 64 * MIB;
const LARGEST = 2048 * MIB;
/** The server overshoots its limit by what is written while a checkpoint ends. */
const OVERSHOOT_BYTES = 2 * SEGMENT_BYTES;

/** `max_wal_size` in MiB on a disk of so many bytes. The larger, the fewer checkpoints, and so the fewer full pages in the log. */
export function logLimitMiB(diskBytes: number): number {
  const share = diskBytes > 0 ? diskBytes / 16 : LARGEST;
  return Math.floor(Math.min(Math.max(share, SMALLEST), LARGEST) / MIB);
}

/** How many bytes the write-ahead log may still grow by on the disk, before the server uses its files again. */
export async function logToCome(dataDir: string, diskBytes: number): Promise<number> {
  const names = await readdir(join(dataDir, 'postgres', 'pg_wal')).catch((): string[] => []);
  const present = names.filter((name) => /^[0-9A-F]{24}$/.test(name)).length * SEGMENT_BYTES;
  return Math.max(logLimitMiB(diskBytes) * MIB + OVERSHOOT_BYTES - present, 0);
}
