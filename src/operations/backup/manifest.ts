import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { OperatorError } from '../../platform/config/index.js';
import { isInstant } from '../../platform/clock/index.js';
import type { BackupParts } from './backup-parts.js';

/** One table of a backup, in `tables/<name>.copy.gz`: PostgreSQL's text format, compressed. */
export interface TableFile {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: number;
  /** Of the compressed file, in hex. */
  readonly sha256: string;
}

/** A blob whose bytes disappeared while the backup was made, because its workspace or asset was deleted. */
export interface GoneBlob {
  readonly workspaceId: string;
  readonly id: string;
  readonly deleted: 'workspace' | 'asset';
}

/** The content of a backup's `manifest.json`. It is written last: what has none is not a backup. */
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

/** What is no backup, or one that cannot be used. */
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
  const manifest = parsed(content);
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

function parsed(content: string): Partial<Manifest> | null {
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
