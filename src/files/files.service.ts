import { Injectable } from '@nestjs/common';
import { Blobs, type StagedBlob } from '../storage/index.js';
import { Clock } from '../platform/clock/index.js';
import { BEFORE_ALL_IDS, Database, isUnanswered, newId } from '../platform/database/index.js';
import { BadRequest, NotFound, PreconditionFailed, ServiceUnavailable } from '../platform/http/index.js';
import type { Caller } from '../access/index.js';
import { ChangePublisher } from './change-publisher.js';
import { lockedFilesAt, lockLog, logDeletions } from './change-log.js';
import type { Precondition } from './file-headers.js';
import { fileStatements } from './files.queries.js';
import { GroupCommitQueue, type PutOutcome } from './group-commit-queue.js';

const PAGE = 1000;

export interface Upload {
  readonly workspaceId: string;
  /** To whom the workspace must be open; undefined when that was asked already. */
  readonly caller?: Caller;
  readonly encryptedPath: string;
  /** What the client says the body's SHA-256 is. */
  readonly contentHash: string;
  readonly deviceId: string;
  readonly precondition: Precondition;
}

export interface Uploaded {
  readonly isNew: boolean;
  readonly fileId: string;
  readonly encryptedSize: number;
  readonly version: number;
}

export interface ListedFile {
  readonly id: string;
  readonly encryptedPath: string;
  readonly contentHash: string;
  readonly encryptedSize: number;
  readonly version: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/**
 * Uploads, deletions and the list of files. The log is written here, by `Versions.restore`, and by `Push` through
 * `logDeletions`; nowhere else.
 */
@Injectable()
export class Files {
  constructor(
    private readonly database: Database,
    private readonly blobs: Blobs,
    private readonly clock: Clock,
    private readonly commitQueue: GroupCommitQueue,
    private readonly changePublisher: ChangePublisher,
  ) {}

  /**
   * Takes in a new content for a path. Bytes first, rows second: a crash at any point leaves bytes that the sweeper
   * finds, never a version without bytes. The live head's own content again changes nothing.
   * @throws BadRequest when the body's hash is another, PreconditionFailed, InsufficientStorage when it would cross the quota,
   * NotFound when the workspace has gone, WorkspaceClosed
   */
  async upload(upload: Upload, body: AsyncIterable<Buffer>): Promise<Uploaded> {
    const blob = await this.blobs.stage(upload.workspaceId, body);
    if (blob.sha256 !== upload.contentHash) {
      await this.blobs.discard(blob);
      throw new BadRequest('X-Content-Hash does not match the body');
    }

    const put = await this.put(upload, blob);
    if (put.cursor === null) await this.blobs.discard(blob);
    else
      this.changePublisher.logged(upload.workspaceId, put.outcome === 'created' ? 'create' : 'update', {
        cursor: put.cursor,
        encryptedPath: upload.encryptedPath,
        action: 'upsert',
        contentHash: upload.contentHash,
        encryptedSize: blob.size,
        version: put.version,
        changedByDevice: upload.deviceId,
      });
    switch (put.outcome) {
      case 'created':
      case 'updated':
      case 'unchanged':
        return {
          isNew: put.outcome === 'created',
          fileId: put.fileId,
          encryptedSize: blob.size,
          version: put.version,
        };
      case 'precondition_failed':
        throw new PreconditionFailed('the file has changed');
      case 'workspace_gone':
        throw new NotFound('workspace not found');
      case 'blob_gone':
        throw new ServiceUnavailable('the upload took too long');
    }
  }

  /**
   * The live files page by page, in the order of their ids, which is that of their creation. Each row is true when it
   * is read, not all of them at one instant: no transaction is held while a slow client takes its time. A client that
   * needs one instant has snapshot and pull. @throws NotFound, also in the middle: a part must never look like all of them
   */
  async *list(workspaceId: string): AsyncGenerator<ListedFile[], void> {
    for (let after: string | undefined = BEFORE_ALL_IDS; after !== undefined;) {
      const values = [workspaceId, after, PAGE];
      const rows: (ListedFile | { id: null })[] = await this.database.run(fileStatements.page, values);
      if (rows.length === 0) throw new NotFound('workspace not found');
      const page = rows.filter((row) => row.id !== null);
      yield page;
      after = page[PAGE - 1]?.id;
    }
  }

  /** Soft-deletes a live file; all its versions stay. @throws NotFound */
  async delete(workspaceId: string, encryptedPath: string, deviceId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await lockLog(tx, workspaceId);
      const [file] = await lockedFilesAt(tx, workspaceId, [encryptedPath]);
      if (!file || file.isDeleted) throw new NotFound('file not found');
      await logDeletions(tx, { workspaceId, deviceId, fileIds: [file.id], now: this.clock.now() });
    });
    this.changePublisher.changed(workspaceId, deviceId, 'delete');
  }

  private async put(upload: Upload, blob: StagedBlob): Promise<PutOutcome> {
    const { workspaceId, caller, encryptedPath, contentHash, deviceId, precondition } = upload;
    const { id: blobId, size, bytes } = blob;
    try {
      // Member by member: spread, it would be a hash table to the engine, of 2 KiB and longer kept.
      return await this.commitQueue.put({
        workspaceId,
        caller,
        encryptedPath,
        contentHash,
        deviceId,
        precondition,
        blobId,
        size,
        bytes,
        fileId: newId(),
        versionId: newId(),
        now: this.clock.now(),
      });
    } catch (error) {
      // A database that does not answer is not made to keep the client waiting once more: the sweeper comes for the blob.
      if (!isUnanswered(error)) await this.blobs.discard(blob);
      throw error;
    }
  }
}
