import { Injectable } from '@nestjs/common';
import { isUUID } from 'class-validator';
import { Clock } from '../../platform/clock.js';
import { Database, newId, type WorkspaceTx } from '../../platform/database/index.js';
import { NotFound } from '../../platform/http/index.js';
import { ChangePublisher, lockLog } from './change-log.js';
import type { VersionEntity } from './files.entities.js';
import { thinningStatements, versionStatements } from './files.queries.js';
import type { VersionBytes } from './files.service.js';

const PAGE = 1000;

/** Above every version number, so the first page starts at the newest version. */
const TOP = 2 ** 31 - 1;

export type Version = Readonly<Omit<VersionEntity, 'workspaceId' | 'fileId' | 'blobId'>>;

/** A version's ciphertext, with its number and creation time. */
export interface VersionContent extends VersionBytes, Pick<Version, 'version' | 'createdAt'> {}

export type Restored = Readonly<Pick<VersionEntity, 'fileId' | 'version' | 'contentHash' | 'encryptedSize'>>;

/** The version history of a path, including deleted paths. */
@Injectable()
export class Versions {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly changePublisher: ChangePublisher,
  ) {}

  /**
   * Lists versions newest first, page by page. Each page is consistent, the whole list is not.
   * @throws NotFound for an unknown path; mid-stream, when the workspace has been deleted
   */
  async *list(workspaceId: string, encryptedPath: string): AsyncGenerator<Version[], void> {
    for (let below: number | undefined = TOP; below !== undefined;) {
      const values = [workspaceId, encryptedPath, below, PAGE];
      const rows: (Version | { id: null })[] = await this.database.run(versionStatements.page, values);
      const page = rows.filter((row) => row.id !== null);
      const isAbsent = below === TOP && page.length === 0; // every file has at least one version
      if (isAbsent || rows.length === 0) throw new NotFound('file not found');
      yield page;
      below = page[PAGE - 1]?.version;
    }
  }

  /** @throws NotFound for a version that does not belong to this path */
  async content(workspaceId: string, encryptedPath: string, versionId: string): Promise<VersionContent> {
    if (!isUUID(versionId)) throw new NotFound('version not found');
    const values = [workspaceId, encryptedPath, versionId];
    const [content] = await this.database.run<VersionContent>(versionStatements.content, values);
    if (!content) throw new NotFound('version not found');
    return content;
  }

  /**
   * Makes an old version the newest: adds exactly one version and one change row, shares the old blob, and loses
   * nothing. A deleted path becomes live again.
   * @param deviceId the initiating device, or null
   * @throws NotFound
   */
  async restore(
    workspaceId: string,
    encryptedPath: string,
    versionId: string,
    deviceId: string | null,
  ): Promise<Restored> {
    if (!isUUID(versionId)) throw new NotFound('version not found');
    const restored = await this.database.workspaceTransaction(workspaceId, async (tx) => {
      await lockLog(tx, workspaceId);
      const [row] = await tx.run<Restored>(versionStatements.restore, [
        workspaceId,
        encryptedPath,
        versionId,
        newId(),
        deviceId,
        this.clock.now(),
      ]);
      if (!row) throw new NotFound('version not found');
      return row;
    });
    this.changePublisher.changed(workspaceId, deviceId, 'restore');
    return restored;
  }
}

/** Version ids of a workspace in PostgreSQL array syntax: thousands of them are passed back to the database unparsed. */
export type VersionIds = string;

export interface Thinning {
  readonly workspaceId: string;
  readonly versionIds: VersionIds;
  /** Blobs that lose their last version in this run must not be removed before this time. */
  readonly notBefore: Date;
}

export interface Thinned {
  readonly versions: number;
  /** Blobs no longer referenced by any version, which are removed after a grace period, and their bytes. */
  readonly blobs: number;
  readonly bytes: number;
}

/** Call it before taking the lock: see `transactionSettings`. */
export async function prepareThinning(tx: WorkspaceTx): Promise<void> {
  await tx.run(thinningStatements.transactionSettings, []);
}

/**
 * Removes those of the versions that are neither their file's current version nor pinned by a checkpoint, and marks
 * the blobs that only they used for deletion. The log is not changed. Call it under the log's lock: uploads, restores
 * and checkpoints then happen before or after it, never in between.
 */
export async function thinVersions(
  tx: WorkspaceTx,
  { workspaceId, versionIds, notBefore }: Thinning,
): Promise<Thinned> {
  const [thinned] = await tx.run<Thinned>(thinningStatements.remove, [workspaceId, versionIds, notBefore]);
  if (!thinned) throw new Error('the thinning returned no row');
  return thinned;
}

/** Returns the number of versions that would be removed. */
export async function countThinnable(
  tx: WorkspaceTx,
  workspaceId: string,
  versionIds: VersionIds,
): Promise<number> {
  await tx.run(thinningStatements.transactionSettings, []);
  const [count] = await tx.run<{ versions: number }>(thinningStatements.count, [workspaceId, versionIds]);
  return count?.versions ?? 0;
}
