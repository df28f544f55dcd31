import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { OperatorError, syncDirectory, writeDurably } from '../config/index.js';
import { isInstant } from '../platform/clock/index.js';

/** One table of a backup, in `tables/<name>.copy.gz`: PostgreSQL's text format, compressed. */
export interface TableFile {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: number;
  /** Of the compressed file, hex. */
  readonly sha256: string;
}

/** A blob whose bytes went while the backup was made, because somebody deleted what it belonged to. */
export interface GoneBlob {
  readonly workspaceId: string;
  readonly id: string;
  readonly deleted: 'workspace' | 'asset';
}

/** What `manifest.json` says of a backup. It is written last: a directory without it is no backup. */
export interface Manifest {
  readonly format: 1;
  /** Of the service that made it. */
  readonly version: string;
  /** The migrations that its tables have seen, oldest first. */
  readonly migrations: readonly string[];
  /** The instant that all tables are of. */
  readonly takenAt: string;
  readonly tables: readonly TableFile[];
  /** Those in files of their own, `blobs/<workspace>/<id>`; small ones are in the table. */
  readonly blobs: { readonly count: number; readonly bytes: number };
  readonly gone: readonly GoneBlob[];
  /** Keys of blobs that should have bytes and have not, or others: the service had lost them already. */
  readonly damaged: readonly string[];
}

const NAME = 'manifest.json';

/** Durable, whole or not at all. */
export async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  const draft = join(directory, `${NAME}.draft`);
  await writeDurably(draft, [Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`)]);
  await rename(draft, join(directory, NAME));
  await syncDirectory(directory);
}

/** @throws OperatorError for what is no whole backup, or one of another format */
export async function readManifest(directory: string): Promise<Manifest> {
  let text: string;
  try {
    text = await readFile(join(directory, NAME), 'utf8');
  } catch (error) {
    throw new OperatorError(`${directory} holds no whole backup: ${NAME} cannot be read.`, { cause: error });
  }
  const manifest = parsed(text);
  if (manifest?.format === undefined) throw new OperatorError(`The backup's ${NAME} is damaged.`);
  if ((manifest.format as number) !== 1)
    throw new OperatorError(`${directory} is a backup of another format; use the service that made it.`);
  const { migrations, tables, blobs, gone, damaged, takenAt } = manifest;
  const isWhole = [migrations, tables, gone, damaged].every(Array.isArray) && isInstant(takenAt);
  if (!isWhole || typeof blobs?.count !== 'number')
    throw new OperatorError(`The backup's ${NAME} is damaged.`);
  return manifest as Manifest;
}

function parsed(text: string): Partial<Manifest> | null {
  try {
    return JSON.parse(text) as Partial<Manifest> | null;
  } catch {
    return null;
  }
}

/** Compresses what is read. What breaks off the reading fails the iteration; what ends the iteration ends the reading. */
export function compressed(source: Readable, level?: number): AsyncIterable<Buffer> {
  const gzip = createGzip(level === undefined ? {} : { level });
  pipeline(source, gzip).catch(() => undefined); // its reader hears of it
  return gzip as AsyncIterable<Buffer>;
}
