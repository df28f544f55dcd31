import { isUUID } from 'class-validator';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { OperatorError } from '../../platform/config/index.js';
import { blobKey, type BlobLocation } from '../../platform/storage/index.js';
import { STORED_BLOBS } from './backup.queries.js';
import type { BackupParts } from './backup-parts.js';
import { asDamaged } from './faults.js';
import { compressed, type GoneBlob } from './manifest.js';

/** A blob of a backup that is a part of its own. */
export interface StoredBlob {
  readonly workspaceId: string;
  readonly id: string;
  readonly location: BlobLocation;
  readonly size: number;
  readonly sha256: string;
  /** False for the blob of a version, which cannot be deleted immediately. */
  readonly isAsset: boolean;
}

const LIST = 'blobs.list.gz';
const AT_ONCE = 4;

export const keyOf = ({ workspaceId, id }: Pick<GoneBlob, 'workspaceId' | 'id'>): string =>
  blobKey(workspaceId, id);

/** Writes the list of blobs in the client's snapshot, so that the snapshot need not stay open while they are copied. */
export async function writeList(client: pg.ClientBase, parts: BackupParts): Promise<void> {
  const copy = client.query(copyTo(`COPY (${STORED_BLOBS}) TO STDOUT`));
  await parts.write(LIST, compressed(copy));
}

/** Processes the list with several workers. The first failure ends it after the work in progress has finished. */
export async function eachListed(
  parts: BackupParts,
  work: (blob: StoredBlob) => Promise<void>,
): Promise<void> {
  const source = listed(parts);
  const worker = async (): Promise<void> => {
    for await (const blob of source) await work(blob); // a worker that throws closes the source for all
  };
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, worker));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed) throw failed.reason;
}

async function* listed(parts: BackupParts): AsyncGenerator<StoredBlob, void> {
  const text = createGunzip();
  const reading = pipeline(parts.read(LIST), text);
  reading.catch(() => undefined);
  try {
    for await (const line of createInterface({ input: text })) yield parsed(line);
    await reading;
  } catch (error) {
    throw asDamaged(LIST, error);
  }
}

/** @throws OperatorError for a malformed line */
function parsed(line: string): StoredBlob {
  const [workspaceId = '', id = '', location = '', size = '', sha256 = '', isAsset = ''] = line.split('\t');
  if (!isUUID(workspaceId) || !isUUID(id)) throw new OperatorError(`The backup's ${LIST} is damaged.`);
  const place = location as BlobLocation;
  return { workspaceId, id, location: place, size: Number(size), sha256, isAsset: isAsset === 't' };
}
