import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PORT } from './socket-directory.js';

const MIB = 1024 ** 2;
const SEGMENT_BYTES = 16 * MIB;
const SMALLEST = 64 * MIB;
const LARGEST = 2048 * MIB;
/** The server overshoots its limit by what is written while a checkpoint ends. */
const OVERSHOOT_BYTES = 2 * SEGMENT_BYTES;

/** `max_wal_size` in MiB on a disk of so many bytes. The larger, the fewer checkpoints, and so the fewer full pages in the log. */
function logLimitMiB(diskBytes: number): number {
  const share = diskBytes > 0 ? diskBytes / 16 : LARGEST;
  return Math.floor(Math.min(Math.max(share, SMALLEST), LARGEST) / MIB);
}

/** How many bytes the write-ahead log may still grow by on the disk, before the server uses its files again. */
export async function logToCome(dataDir: string, diskBytes: number): Promise<number> {
  const names = await readdir(join(dataDir, 'postgres', 'pg_wal')).catch((): string[] => []);
  const present = names.filter((name) => /^[0-9A-F]{24}$/.test(name)).length * SEGMENT_BYTES;
  return Math.max(logLimitMiB(diskBytes) * MIB + OVERSHOOT_BYTES - present, 0);
}

/**
 * Settings of the server, for a machine that it shares with the service. They are given on the command line, where
 * they win over postgresql.conf and ALTER SYSTEM: an edit there cannot switch off what keeps acknowledged writes.
 * @param diskBytes the size of the disk that the cluster is on; 0 when it has none
 */
export function serverArguments(socketDirectory: string, diskBytes: number): string[] {
  const settings: Record<string, string | number> = {
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',

    listen_addresses: '', // the socket alone
    unix_socket_directories: `"${socketDirectory.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    port: PORT,
    password_encryption: 'scram-sha-256',
    max_connections: 120, // a place that nobody takes costs next to nothing
    max_logical_replication_workers: 0, // nothing here subscribes to another server: one process less

    shared_buffers: '16MB', // what else is read often, the system keeps
    wal_buffers: '2MB', // of itself it would take 1 MiB, which one batch of uploads fills
    max_wal_size: `${logLimitMiB(diskBytes)}MB`, // on a small disk it must leave room for what the log is about
    wal_compression: 'pglz', // the packaged server is built without lz4
    default_statistics_target: 30, // statements are planned for keys; a sample of 30,000 rows takes 6 to 13 MiB more than one of 9,000
    jit: 'off',
    timezone: 'UTC',

    logging_collector: 'off',
    log_destination: 'stderr',
    log_timezone: 'UTC',
    log_line_prefix: '%b|%e|', // read by server-log.ts
    log_min_messages: 'warning',
    // Details and statements can hold what users wrote, so they are not logged.
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    log_autovacuum_min_duration: -1,
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
