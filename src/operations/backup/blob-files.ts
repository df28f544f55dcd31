import { Injectable } from '@nestjs/common';
import { isUUID } from 'class-validator';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { OperatorError } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { blobKey, type BlobLocation, BlobMissing, Blobs, HashedBody } from '../../platform/storage/index.js';
import { asDamaged, type BackupParts, compressed, type GoneBlob, type Manifest } from './backup-parts.js';
import { backupStatements, STORED_BLOBS } from './backup.queries.js';

/** A blob that is stored as a separate part of a backup. */
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

interface BlobPlace {
  /** Null when the row has been deleted. */
  readonly location: BlobLocation | null;
  readonly isLive: boolean | null;
  readonly bytes: Buffer | null;
  readonly hasWorkspace: boolean;
}

type Outcome = 'saved' | 'damaged' | GoneBlob['deleted'];

type Exported = Pick<Manifest, 'blobs' | 'gone' | 'damaged'>;

/** Exports and imports the blobs that are separate parts of a backup. */
@Injectable()
export class BlobFiles {
  constructor(
    private readonly database: Database,
    private readonly blobs: Blobs,
  ) {}

  /** The location to which `import` copies blobs. */
  get target(): BlobLocation {
    return this.blobs.mainLocation;
  }

  /**
   * Copies the bytes of all listed blobs. A blob deleted meanwhile is skipped and recorded; a blob that has lost its
   * bytes is recorded as damaged and does not keep the others from being saved.
   */
  async export(parts: BackupParts): Promise<Exported> {
    const gone: GoneBlob[] = [];
    const damaged: string[] = [];
    let [count, bytes] = [0, 0];
    await eachListed(parts, async (blob) => {
      const outcome = await this.save(parts, blob);
      if (outcome === 'saved') [count, bytes] = [count + 1, bytes + blob.size];
      else if (outcome === 'damaged') damaged.push(keyOf(blob));
      else gone.push({ workspaceId: blob.workspaceId, id: blob.id, deleted: outcome });
    });
    return { blobs: { count, bytes }, gone, damaged };
  }

  /**
   * Copies the bytes into this service's blob store unless it already has them: after the loss of only the database,
   * its own bytes may be better than those of the backup. @throws OperatorError when the backup is damaged,
   * ServiceUnavailable
   */
  async import(parts: BackupParts, { blobs, gone, damaged }: Manifest): Promise<void> {
    const without = new Set([...gone.map(keyOf), ...damaged]);
    let count = 0;
    await eachListed(parts, async (blob) => {
      if (without.has(keyOf(blob))) return;
      if (!(await this.isStored(blob))) await this.bring(parts, blob);
      count += 1;
    });
    if (count !== blobs.count) throw new OperatorError("The backup's list of blobs is incomplete.");
  }

  private async isStored(blob: StoredBlob): Promise<boolean> {
    try {
      const { mainLocation } = this.blobs;
      const stored = await this.blobs.read({ ...blob, location: mainLocation, bytes: null });
      return (await HashedBody.readThrough(Readable.from(stored))).is(blob);
    } catch (error) {
      if (error instanceof BlobMissing) return false;
      throw error;
    }
  }

  /** Reads the whole file before clearing its destination: a damaged file must not destroy what is stored there. */
  private async bring(parts: BackupParts, blob: StoredBlob): Promise<void> {
    expectWhole(await HashedBody.readThrough(bytesOf(parts, blob)), blob);
    const body = new HashedBody(bytesOf(parts, blob));
    await this.blobs.bring(blob.workspaceId, blob.id, body);
    expectWhole(body, blob);
  }

  private async save(parts: BackupParts, blob: StoredBlob, bytes: Buffer | null = null): Promise<Outcome> {
    try {
      const body = new HashedBody(Readable.from(await this.blobs.read({ ...blob, bytes })));
      await parts.write(pathOf(blob), body, blob.size);
      return body.is(blob) ? 'saved' : 'damaged';
    } catch (error) {
      if (!(error instanceof BlobMissing)) throw error;
      return this.missing(parts, blob);
    }
  }

  /** Determines whether a missing blob was moved, deleted or lost. */
  private async missing(parts: BackupParts, blob: StoredBlob): Promise<Outcome> {
    const [found] = await this.database.run<BlobPlace>(backupStatements.whereabouts, [
      blob.workspaceId,
      blob.id,
    ]);
    if (!found?.hasWorkspace) return 'workspace';
    if (found.location !== null && found.location !== blob.location)
      return this.save(parts, { ...blob, location: found.location }, found.bytes);
    return blob.isAsset && !found.isLive ? 'asset' : 'damaged';
  }
}

function expectWhole(body: HashedBody, blob: StoredBlob): void {
  if (!body.is(blob)) throw new OperatorError(`The backup's blob ${keyOf(blob)} is damaged.`);
}

/** Opened on first read. */
async function* bytesOf(parts: BackupParts, blob: StoredBlob): AsyncGenerator<Buffer, void> {
  try {
    yield* parts.read(pathOf(blob));
  } catch (error) {
    throw asDamaged(`blob ${keyOf(blob)}`, error);
  }
}

const pathOf = (blob: StoredBlob): string => `blobs/${keyOf(blob)}`;
