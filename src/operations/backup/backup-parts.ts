import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { isInstant } from '../../platform/clock.js';
import { type BackupStore, isInS3, OperatorError, s3Address } from '../../platform/config/index.js';
import { BlobMissing, openObjects, type S3Objects } from '../../platform/storage/index.js';

/** The files of one backup, in a directory or in a bucket. Paths are relative, with slashes. */
export abstract class BackupParts {
  /** The operator's name for the backup. */
  abstract readonly name: string;

  /** Prepares it for a new backup. @throws OperatorError when it is not empty */
  abstract begin(): Promise<void>;

  /**
   * Writes a part, and leaves none when reading the chunks fails.
   * @param size in bytes, if known
   */
  abstract write(path: string, chunks: AsyncIterable<Buffer>, size?: number): Promise<void>;

  /** Writes the part that completes the backup: if it exists after a crash, so do all others. */
  abstract complete(path: string, text: string): Promise<void>;

  /** Opened on first read. Fails with an error whose `code` says what is wrong. */
  abstract read(path: string): AsyncIterable<Buffer>;
}

/** One table of a backup, in `tables/<name>.copy.gz`: PostgreSQL's text format, compressed. */
export interface TableFile {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: number;
  /** Hash of the compressed file, in hex. */
  readonly sha256: string;
}

/** A blob whose bytes disappeared while the backup was made, because its workspace or asset was deleted. */
export interface GoneBlob {
  readonly workspaceId: string;
  readonly id: string;
  readonly deleted: 'workspace' | 'asset';
}

/** The content of a backup's `manifest.json`. It is written last: a backup without it is not one. */
export interface Manifest {
  readonly format: 1;
  /** The version of the service that made the backup. */
  readonly version: string;
  /** The id of the database; absent in backups of earlier versions. */
  readonly database?: string;
  /** The migrations applied to its tables, oldest first; of an adopted database also those that the baseline replaces. */
  readonly migrations: readonly string[];
  /** The instant of the snapshot of all tables. */
  readonly takenAt: string;
  readonly tables: readonly TableFile[];
  /** Blobs stored as files, `blobs/<workspace>/<id>`; small blobs are in the table. */
  readonly blobs: { readonly count: number; readonly bytes: number };
  readonly gone: readonly GoneBlob[];
  /** Keys of blobs whose bytes are missing or wrong: the service had lost them before the backup. */
  readonly damaged: readonly string[];
}

export const MANIFEST = 'manifest.json';

/** The place contains no backup, or one that cannot be used. */
export class NotABackup extends OperatorError {}

/** Writes the manifest atomically and durably. */
export function writeManifest(parts: BackupParts, manifest: Manifest): Promise<void> {
  return parts.complete(MANIFEST, `${JSON.stringify(manifest, null, 2)}\n`);
}

/** @throws NotABackup for an incomplete backup, or one of another format; OperatorError when a store is away */
export async function readManifest(parts: BackupParts): Promise<Manifest> {
  let content: string;
  try {
    content = await text(parts.read(MANIFEST));
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw new NotABackup(`${parts.name} does not contain a complete backup: ${MANIFEST} cannot be read.`, {
      cause: error,
    });
  }
  const manifest = parsedManifest(content);
  if (manifest?.format === undefined) throw new NotABackup(`The backup's ${MANIFEST} is damaged.`);
  if ((manifest.format as number) !== 1)
    throw new NotABackup(
      `${parts.name} is a backup in another format; use the version of the service that made it.`,
    );
  const { migrations, tables, blobs, gone, damaged, takenAt } = manifest;
  const isWhole = [migrations, tables, gone, damaged].every(Array.isArray) && isInstant(takenAt);
  if (!isWhole || typeof blobs?.count !== 'number')
    throw new NotABackup(`The backup's ${MANIFEST} is damaged.`);
  return manifest as Manifest;
}

function parsedManifest(content: string): Partial<Manifest> | null {
  try {
    return JSON.parse(content) as Partial<Manifest> | null;
  } catch {
    return null;
  }
}

/** Compresses a stream. A read error fails the iteration; ending the iteration ends the read. */
export function compressed(source: Readable, level?: number): AsyncIterable<Buffer> {
  const gzip = createGzip(level === undefined ? {} : { level });
  pipeline(source, gzip).catch(() => undefined); // the reader gets the error
  return gzip as AsyncIterable<Buffer>;
}

const UNWRITABLE = new Set([
  'ENOSPC',
  'EDQUOT',
  'EFBIG',
  'EIO',
  'EROFS',
  'EACCES',
  'EPERM',
  'EEXIST',
  'ENOENT',
  'ENOTDIR',
]);
const UNREADABLE = new Set(['ENOENT', 'EISDIR', 'ENOTDIR', 'EIO', 'EACCES', 'EPERM', 'NoSuchKey']);

/** Error codes of zlib for corrupt data, and of PostgreSQL for invalid rows (classes 22 and 23). */
const DAMAGE = /^(?:Z_[A-Z_]+|2[23][0-9A-Z]{3})$/;

/**
 * Turns failures to write a backup into operator errors, because the operator can fix them; returns other errors unchanged.
 * @param isTidied whether the partial backup is removed without the operator
 */
export function asUnwritable(directory: string, error: unknown, isTidied: boolean): unknown {
  if (!UNWRITABLE.has(codeOf(error))) return error;
  const next = isTidied ? 'what was written of it is removed' : 'remove the partial backup and try again';
  const message = `The backup cannot be written to ${directory} (${codeOf(error)}); ${next}.`;
  return new OperatorError(message, { cause: error });
}

/** The same for a part of a backup that is missing or corrupt. */
export function asDamaged(part: string, error: unknown): unknown {
  const code = codeOf(error);
  if (!UNREADABLE.has(code) && !DAMAGE.test(code)) return error;
  return new OperatorError(`The backup's ${part} is damaged or cannot be read (${code}).`, { cause: error });
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** The prefix of the name of a scheduled backup; in a directory, of one that is verified. */
export const SCHEDULED = 'scheduled-';
export const UNVERIFIED = 'unverified-';
export const PARTIAL = 'partial-';

const NAME =
  /^(?<prefix>scheduled-|unverified-|partial-)(?:(?<=partial-)[a-z]+-)?(?<day>\d{4}-\d\d-\d\dT)(?<time>\d{6}\.\d{3}Z)$/;

export const stampOf = (time: Date): string => time.toISOString().replaceAll(':', '');

/** The prefix and the time of a name; undefined for other names, which belong to the operator. */
export function parsed(name: string): { prefix: string; time: number } | undefined {
  const { prefix = '', day = '', time = '' } = NAME.exec(name)?.groups ?? {};
  if (!prefix) return undefined;
  return { prefix, time: Date.parse(day + time.replace(/^(\d\d)(\d\d)/, '$1:$2:')) };
}

/**
 * The verified backups to remove when `keep` are kept. `newest` always stays: a wrong clock may have named other backups, so
 * names later than `newest` count as older than all others, and are ordered by time among themselves.
 */
export function surplusOf(names: readonly string[], keep: number, newest: string): string[] {
  const timeOf = (name: string): number => parsed(name)?.time ?? 0;
  const newestTime = timeOf(SCHEDULED + newest);
  const isLater = (name: string): number => Number(timeOf(name) > newestTime);
  return [...names].sort((a, b) => isLater(a) - isLater(b) || timeOf(b) - timeOf(a)).slice(keep);
}

/** An object that is written first and removed first. */
export const BEGUN = 'begun';

/** One backup below a prefix of a bucket, streamed there as it is made. */
export class BucketParts extends BackupParts {
  constructor(
    readonly name: string,
    private readonly objects: S3Objects,
  ) {
    super();
  }

  async begin(): Promise<void> {
    await this.objects.makeBucket();
    if (!(await this.objects.isEmpty()))
      throw new OperatorError(`${this.name} is not empty; a backup needs a prefix of its own.`);
    await this.objects.put(BEGUN, bytesOf(''), 0);
  }

  write(path: string, chunks: AsyncIterable<Buffer>, size?: number): Promise<void> {
    return this.objects.put(path, chunks, size);
  }

  /**
   * Refuses a removed draft: a run that has lost its lock may be working on a draft that another run has removed, or is removing.
   */
  async complete(path: string, text: string): Promise<void> {
    if ((await this.objects.sizeOf(BEGUN)) === undefined)
      throw new OperatorError(`${this.name} has been removed meanwhile.`);
    await this.objects.put(path, bytesOf(text), Buffer.byteLength(text));
  }

  async *read(path: string): AsyncGenerator<Buffer, void> {
    try {
      yield* this.objects.read(path);
    } catch (error) {
      if (!(error instanceof BlobMissing)) throw error;
      throw Object.assign(new Error(error.message), { code: 'NoSuchKey' });
    }
  }
}

/** A text as a stream. */
export async function* bytesOf(text: string): AsyncGenerator<Buffer, void> {
  await Promise.resolve();
  if (text) yield Buffer.from(text);
}

/**
 * Opens the objects at `s3://bucket/prefix` for `work`, which gets none for a directory.
 * @throws OperatorError for a malformed place, and where no store is configured
 */
export async function withObjects<T>(
  place: string,
  store: BackupStore | undefined,
  work: (objects: S3Objects | undefined) => Promise<T>,
): Promise<T> {
  if (!isInS3(place)) return work(undefined);
  const address = s3Address(place);
  if (!address)
    throw new OperatorError(
      `${place} must be s3://bucket/prefix, as BACKUP_DIR or the name of a backup in it.`,
    );
  if (!store)
    throw new OperatorError(
      'There is no S3 store; set BACKUP_S3_ENDPOINT, BACKUP_S3_ACCESS_KEY and BACKUP_S3_SECRET_KEY.',
    );
  const objects = await openObjects(store, address);
  try {
    return await work(objects);
  } finally {
    objects.close();
  }
}
