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
  /** The workspace must be accessible to this caller; undefined when access has already been checked. */
  readonly caller?: Caller;
  readonly encryptedPath: string;
  /** SHA-256 of the body as claimed by the client. */
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
 * Uploads, deletions and the file list. Only this class, `Versions.restore`, and `Push` through `logDeletions` write
 * the log.
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
   * Stores new content for a path. Bytes are written before rows: a crash at any point leaves bytes for the sweeper,
   * never a version without bytes. Uploading the live head's own content again changes nothing.
   * @throws BadRequest when the body does not match its hash, PreconditionFailed, InsufficientStorage when the quota
   * would be exceeded, NotFound when the workspace has been deleted, WorkspaceClosed
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
   * Lists the live files page by page, ordered by id, which is the order of creation. Each page is consistent, the
   * whole list is not: no transaction is held open for a slow client. A client that needs a consistent view uses
   * snapshot and pull.
   * @throws NotFound, also mid-stream: a partial list must never look complete
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

  /** Soft-deletes a live file and keeps all its versions. @throws NotFound */
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
      // Properties are copied one by one: a spread would give V8 a dictionary-mode object of 2 KiB that is kept
      // longer.
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
      // If the database does not respond, do not make the client wait a second time: the sweeper removes the blob.
      if (!isUnanswered(error)) await this.blobs.discard(blob);
      throw error;
    }
  }
}
