import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PORT } from './socket-directory.js';

const MIB = 1024 ** 2;
const SEGMENT_BYTES = 16 * MIB;
const SMALLEST = 64 * MIB;
const LARGEST = 2048 * MIB;
/** The server exceeds its limit by what is written while a checkpoint completes. */
const OVERSHOOT_BYTES = 2 * SEGMENT_BYTES;

/** `max_wal_size` in MiB for a disk of this size. A larger value means fewer checkpoints, and so fewer full pages in the WAL. */
function logLimitMiB(diskBytes: number): number {
  const share = diskBytes > 0 ? diskBytes / 16 : LARGEST;
  return Math.floor(Math.min(Math.max(share, SMALLEST), LARGEST) / MIB);
}

/** How many bytes the WAL may still grow by before the server recycles its files. */
export async function remainingWalBytes(dataDir: string, diskBytes: number): Promise<number> {
  const names = await readdir(join(dataDir, 'postgres', 'pg_wal')).catch((): string[] => []);
  const present = names.filter((name) => /^[0-9A-F]{24}$/.test(name)).length * SEGMENT_BYTES;
  return Math.max(logLimitMiB(diskBytes) * MIB + OVERSHOOT_BYTES - present, 0);
}

/**
 * Server settings for a machine that it shares with the service. They are passed on the command line, where they override
 * postgresql.conf and ALTER SYSTEM: an edit there cannot switch off the durability of acknowledged writes.
 * @param diskBytes the size of the cluster's disk; 0 if unknown
 */
export function serverArguments(socketDirectory: string, diskBytes: number): string[] {
  const settings: Record<string, string | number> = {
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',

    listen_addresses: '', // only the Unix socket
    unix_socket_directories: `"${socketDirectory.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    port: PORT,
    password_encryption: 'scram-sha-256',
    max_connections: 120, // an unused slot costs next to nothing
    max_logical_replication_workers: 0, // no logical replication: saves one process

    shared_buffers: '16MB', // the system's page cache holds the rest
    wal_buffers: '2MB', // the default here would be 1 MiB, which one batch of uploads fills
    max_wal_size: `${logLimitMiB(diskBytes)}MB`, // on a small disk, the WAL must leave room for the data
    wal_compression: 'pglz', // the packaged server has no lz4
    default_statistics_target: 30, // plans use keys; a sample of 30,000 rows takes 6 to 13 MiB more than one of 9,000
    jit: 'off',
    timezone: 'UTC',

    logging_collector: 'off',
    log_destination: 'stderr',
    log_timezone: 'UTC',
    log_line_prefix: '%b|%e|', // parsed by server-log.ts
    log_min_messages: 'warning',
    // Details and statements can contain user data, so they are not logged.
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    log_autovacuum_min_duration: -1,
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
