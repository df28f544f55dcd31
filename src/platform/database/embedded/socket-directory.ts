import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OperatorError } from '../../config/index.js';
import { chownTo } from './account.js';
import { type DataDirectory, errorCode } from './data-directory.js';
import type { Account } from './launcher.js';

/** Part of the name of the socket and its lock file; there is no TCP port. */
export const PORT = 5432;

/** Maximum length of a socket path in bytes: the size of sun_path minus its terminating zero. */
const LONGEST_SOCKET_PATH = process.platform === 'darwin' ? 103 : 107;

/**
 * Creates the directory of the server's socket, which only the account may enter: under DATA_DIR or, where that path is too
 * long for a socket, in the directory for temporary files under a name derived from DATA_DIR.
 * @throws OperatorError when another user created it first, or that path is too long as well
 */
export async function makeSocketDirectory(
  data: DataDirectory,
  account: Account | undefined,
): Promise<string> {
  const directory = [join(data.path, 'run'), join(tmpdir(), `cloudsync-${shortHash(data.path)}`)].find(fits);
  if (directory === undefined) {
    throw new OperatorError(
      `The path of the data directory ${data.shown} is too long for a socket; set DATA_DIR to a shorter one.`,
    );
  }
  await mkdir(directory, { mode: 0o700 }).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error;
  });
  await refuseOtherOwners(directory, account);
  await chownTo(account, directory);
  return directory;
}

function fits(directory: string): boolean {
  return Buffer.byteLength(join(directory, `.s.PGSQL.${PORT}`)) <= LONGEST_SOCKET_PATH;
}

function shortHash(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 16);
}

/** In a directory for all users, another user could create this name first and receive our password. */
async function refuseOtherOwners(directory: string, account: Account | undefined): Promise<void> {
  const found = await lstat(directory);
  const isOurs = found.uid === process.geteuid?.() || found.uid === account?.uid;
  const isClosed = (found.mode & 0o022) === 0;
  if (found.isDirectory() && isOurs && isClosed) return;
  throw new OperatorError(
    `${directory} is not a private directory of this service; remove it and start again.`,
  );
}

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
    log_line_prefix: '%b|%e|', // parsed by `readServerLine`
    log_min_messages: 'warning',
    // Details and statements can contain user data, so they are not logged.
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    log_checkpoints: 'off',
    log_autovacuum_min_duration: -1,
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

export type LogLevel = 'info' | 'warn' | 'error';

export type Log = (line: { level: LogLevel; message: string; [field: string]: unknown }) => void;

/** One log message of the server. */
export interface ServerMessage {
  readonly severity: string;
  /** The kind of process that wrote it, such as `client backend`; empty when unknown. */
  readonly process: string;
  /** SQLSTATE; empty when unknown. */
  readonly code: string;
  readonly text: string;
}

const LINE = /^(?:([^|]*)\|([^|]*)\|)?(DEBUG\d|LOG|INFO|NOTICE|WARNING|ERROR|FATAL|PANIC): +(.*)$/;

/** Parses one line, with or without the prefix that `serverArguments` sets. Anything else counts as a warning. */
export function readServerLine(line: string): ServerMessage {
  const match = LINE.exec(line);
  if (match === null) return { severity: 'WARNING', process: '', code: '', text: line };
  const [, process = '', code = '', severity = '', text = ''] = match;
  return { severity, process, code, text };
}

/** Another server, or the remains of one, holds the data directory; it may become free soon. */
export const LOCK_FILE_EXISTS = 'F0001';

/** Shutdown, crash of another backend, starting up: transient states that the supervisor reports itself. */
const PASSING = ['57P01', '57P02', '57P03', LOCK_FILE_EXISTS];

/** Lack of resources, system errors, internal errors: faults of the server, regardless of the client. */
const FAULT_CLASSES = ['53', '58', 'XX'];

/**
 * The level at which the service logs a message; undefined if it does not. Clients receive their own errors, and many of those
 * are normal (a lost race on a unique index), so for clients only faults of the server are logged.
 */
export function levelOf({ severity, process, code, text }: ServerMessage): LogLevel | undefined {
  if (severity === 'PANIC') return 'error';
  if (severity === 'WARNING') return 'warn';
  if (severity === 'LOG') return text.includes('was terminated by signal') ? 'warn' : undefined;
  if (severity !== 'ERROR' && severity !== 'FATAL') return undefined;
  if (PASSING.includes(code)) return undefined;
  if (process === 'client backend' && !FAULT_CLASSES.includes(code.slice(0, 2))) return undefined;
  return 'error';
}
