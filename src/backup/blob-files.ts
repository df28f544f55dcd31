import { Injectable } from '@nestjs/common';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { OperatorError, syncDirectory, writeDurably } from '../config/index.js';
import { type BlobLocation, BlobMissing, Blobs, HashedBody } from '../storage/index.js';
import { Database } from '../platform/database/index.js';
import { backupStatements } from './backup.queries.js';
import { eachListed, keyOf, type StoredBlob } from './blob-list.js';
import { asDamaged } from './faults.js';
import type { GoneBlob, Manifest } from './manifest.js';

interface BlobPlace {
  /** Null when the row has been deleted. */
  readonly location: BlobLocation | null;
  readonly isLive: boolean | null;
  readonly bytes: Buffer | null;
  readonly hasWorkspace: boolean;
}

type Outcome = 'saved' | 'damaged' | GoneBlob['deleted'];

type Exported = Pick<Manifest, 'blobs' | 'gone' | 'damaged'>;

/** The blobs of a backup that are stored as files. */
@Injectable()
export class BlobFiles {
  constructor(
    private readonly database: Database,
    private readonly blobs: Blobs,
  ) {}

  /** Where `import` puts them. */
  get target(): BlobLocation {
    return this.blobs.mainLocation;
  }

  /**
   * Copies the bytes of all listed blobs. A blob deleted meanwhile is skipped and recorded; a blob that has lost its
   * bytes is recorded as damaged and does not keep the others from being saved.
   */
  async export(directory: string): Promise<Exported> {
    const gone: GoneBlob[] = [];
    const damaged: string[] = [];
    let [count, bytes] = [0, 0];
    await eachListed(directory, async (blob) => {
      const outcome = await this.save(directory, blob);
      if (outcome === 'saved') [count, bytes] = [count + 1, bytes + blob.size];
      else if (outcome === 'damaged') damaged.push(keyOf(blob));
      else gone.push({ workspaceId: blob.workspaceId, id: blob.id, deleted: outcome });
    });
    await syncNames(join(directory, 'blobs'));
    return { blobs: { count, bytes }, gone, damaged };
  }

  /**
   * Copies the bytes into this service's blob store unless it already has them: after the loss of only the database,
   * its own bytes may be better than those of the backup. @throws OperatorError when the backup is damaged,
   * ServiceUnavailable
   */
  async import(directory: string, { blobs, gone, damaged }: Manifest): Promise<void> {
    const without = new Set([...gone.map(keyOf), ...damaged]);
    let count = 0;
    await eachListed(directory, async (blob) => {
      if (without.has(keyOf(blob))) return;
      if (!(await this.isStored(blob))) await this.bring(directory, blob);
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
  private async bring(directory: string, blob: StoredBlob): Promise<void> {
    expectWhole(await HashedBody.readThrough(bytesOf(directory, blob)), blob);
    const body = new HashedBody(bytesOf(directory, blob));
    await this.blobs.bring(blob.workspaceId, blob.id, body);
    expectWhole(body, blob);
  }

  private async save(directory: string, blob: StoredBlob, bytes: Buffer | null = null): Promise<Outcome> {
    const path = fileOf(directory, blob);
    await makeDirectory(dirname(path));
    try {
      const body = new HashedBody(Readable.from(await this.blobs.read({ ...blob, bytes })));
      await writeDurably(path, body);
      return body.is(blob) ? 'saved' : 'damaged';
    } catch (error) {
      if (!(error instanceof BlobMissing)) throw error;
      await rm(path, { force: true });
      return this.missing(directory, blob);
    }
  }

  /** Determines whether a missing blob was moved, deleted or lost. */
  private async missing(directory: string, blob: StoredBlob): Promise<Outcome> {
    const [found] = await this.database.run<BlobPlace>(backupStatements.whereabouts, [
      blob.workspaceId,
      blob.id,
    ]);
    if (!found?.hasWorkspace) return 'workspace';
    if (found.location !== null && found.location !== blob.location)
      return this.save(directory, { ...blob, location: found.location }, found.bytes);
    return blob.isAsset && !found.isLive ? 'asset' : 'damaged';
  }
}

/** Not `recursive`: a draft that another run has removed must not come back. */
async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function expectWhole(body: HashedBody, blob: StoredBlob): void {
  if (!body.is(blob)) throw new OperatorError(`The backup's blob ${keyOf(blob)} is damaged.`);
}

/** Opened on first read: an unread stream that fails to open would crash the process. */
async function* bytesOf(directory: string, blob: StoredBlob): AsyncGenerator<Buffer, void> {
  try {
    for await (const chunk of createReadStream(fileOf(directory, blob))) yield chunk as Buffer;
  } catch (error) {
    throw asDamaged(`blob ${keyOf(blob)}`, error);
  }
}

/** A file survives a power failure only when its directory entry does. */
async function syncNames(directory: string): Promise<void> {
  for (const name of await readdir(directory)) await syncDirectory(join(directory, name));
  await syncDirectory(directory);
}

const fileOf = (directory: string, { workspaceId, id }: StoredBlob): string =>
  join(directory, 'blobs', workspaceId, id);
