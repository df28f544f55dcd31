import { Injectable } from '@nestjs/common';
import { accessKey, type Caller, WorkspaceAccess, type WorkspaceRef } from '../../access/index.js';
import { BatchLoader } from '../../platform/async.js';
import { Clock } from '../../platform/clock.js';
import { BEFORE_ALL_IDS, Database, isUnanswered, newId } from '../../platform/database/index.js';
import { BadRequest, NotFound, PreconditionFailed, ServiceUnavailable } from '../../platform/http/index.js';
import { type BlobReference, Blobs, type StagedBlob } from '../../platform/storage/index.js';
import { type ChangeKind, ChangePublisher, lockedFilesAt, lockLog, logDeletions } from './change-log.js';
import type { ForeseenUpload } from './document-quota.js';
import type { FileEntity } from './files.entities.js';
import { fileStatements } from './files.queries.js';
import { GroupCommitQueue } from './group-commit-queue.js';
import type { Put, PutOutcome } from './upload-writer.js';

const PAGE = 1000;

export interface Upload extends ForeseenUpload {
  /** The workspace must be accessible to this caller; undefined when access has already been checked. */
  readonly caller?: Caller;
  readonly deviceId: string;
}

export interface Uploaded {
  readonly isNew: boolean;
  readonly fileId: string;
  readonly encryptedSize: number;
  readonly version: number;
  /** Cursor of the logged change; null when nothing was written. */
  readonly cursor: number | null;
}

export type ListedFile = Readonly<Omit<FileEntity, 'workspaceId' | 'pathHash' | 'blobId' | 'isDeleted'>>;

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
      this.changePublisher.logged(upload.workspaceId, kindOf(put), {
        cursor: put.cursor,
        encryptedPath: upload.encryptedPath,
        action: 'upsert',
        contentHash: upload.contentHash,
        encryptedSize: blob.size,
        version: put.version,
        changedByDevice: upload.deviceId,
      });
    return uploadedOf(put, blob);
  }

  /**
   * Stores a batch of uploads from one device, each to a different path of one workspace, with content whose hash has been
   * checked. They share a commit if they fit into one (COMMIT_UPLOADS, COMMIT_BYTES), and are announced once. Each is decided as
   * in `upload`.
   * @returns for each upload the result, or the error that `upload` would have thrown
   * @throws ServiceUnavailable when the bytes of one cannot be stored; nothing is written then
   */
  async uploadAll(
    { workspaceId, deviceId }: { readonly workspaceId: string; readonly deviceId: string },
    uploads: readonly (Upload & { readonly content: Buffer })[],
  ): Promise<PromiseSettledResult<Uploaded>[]> {
    const blobs = await this.stageAll(uploads);
    const puts = uploads.map((upload, index) => this.dataOf(upload, blobs[index] as StagedBlob));
    const outcomes = await this.commitQueue.putAll(puts);

    const kinds: ChangeKind[] = [];
    const results: PromiseSettledResult<Uploaded>[] = [];
    for (const [index, outcome] of outcomes.entries()) {
      const blob = blobs[index] as StagedBlob;
      if (outcome.status === 'rejected') {
        if (!isUnanswered(outcome.reason)) await this.blobs.discard(blob);
        results.push(outcome);
      } else {
        if (outcome.value.cursor === null) await this.blobs.discard(blob);
        else kinds.push(kindOf(outcome.value));
        results.push(settled(() => uploadedOf(outcome.value, blob)));
      }
    }
    this.changePublisher.changedAll(workspaceId, deviceId, kinds);
    return results;
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
    await this.database.workspaceTransaction(workspaceId, async (tx) => {
      await lockLog(tx, workspaceId);
      const [file] = await lockedFilesAt(tx, workspaceId, [encryptedPath]);
      if (!file || file.isDeleted) throw new NotFound('file not found');
      await logDeletions(tx, { workspaceId, deviceId, fileIds: [file.id], now: this.clock.now() });
    });
    this.changePublisher.changed(workspaceId, deviceId, 'delete');
  }

  private async put(upload: Upload, blob: StagedBlob): Promise<PutOutcome> {
    try {
      return await this.commitQueue.put(this.dataOf(upload, blob));
    } catch (error) {
      // If the database does not respond, do not make the client wait a second time: the sweeper removes the blob.
      if (!isUnanswered(error)) await this.blobs.discard(blob);
      throw error;
    }
  }

  /** Properties are copied one by one: a spread would give V8 a dictionary-mode object of 2 KiB that is kept longer. */
  private dataOf(
    { workspaceId, caller, encryptedPath, contentHash, deviceId, precondition }: Upload,
    { id: blobId, size, bytes }: StagedBlob,
  ): Put {
    return {
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
    };
  }

  /** All or none. @throws the first error */
  private async stageAll(uploads: readonly (Upload & { readonly content: Buffer })[]): Promise<StagedBlob[]> {
    const staged = await Promise.allSettled(
      uploads.map(({ workspaceId, content, contentHash }) =>
        this.blobs.stageWhole(workspaceId, content, contentHash),
      ),
    );
    const blobs = staged.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const failed = staged.find((one) => one.status === 'rejected');
    if (!failed) return blobs;
    for (const blob of blobs) await this.blobs.discard(blob);
    throw failed.reason;
  }
}

const kindOf = ({ outcome }: PutOutcome): ChangeKind => (outcome === 'created' ? 'create' : 'update');

/** @throws as `Files.upload` */
function uploadedOf({ outcome, fileId, version, cursor }: PutOutcome, { size }: StagedBlob): Uploaded {
  switch (outcome) {
    case 'created':
    case 'updated':
    case 'unchanged':
      return { isNew: outcome === 'created', fileId, encryptedSize: size, version, cursor };
    case 'precondition_failed':
      throw new PreconditionFailed('the file has changed');
    case 'workspace_gone':
      throw new NotFound('workspace not found');
    case 'blob_gone':
      throw new ServiceUnavailable('the upload took too long');
  }
}

function settled<T>(work: () => T): PromiseSettledResult<T> {
  try {
    return { status: 'fulfilled', value: work() };
  } catch (reason) {
    return { status: 'rejected', reason };
  }
}

/** The ciphertext of a version: its header values and the location of its bytes. */
export interface VersionBytes extends BlobReference {
  readonly contentHash: string;
}

/**
 * Half of the requests that a client usually has in flight: while one batch is read, the callers of the other batch receive their
 * answers and send the next requests. Each row may carry an inline blob.
 */
const BATCH_SIZE = 8;

interface Ask {
  readonly workspace: WorkspaceRef;
  readonly encryptedPath: string;
}

/**
 * Concurrent reads of heads by one caller, such as a device that fetches a whole workspace, share round trips: for
 * small files the round trips dominate the cost.
 */
@Injectable()
export class FileContentLoader {
  private readonly batches = new BatchLoader<Ask, VersionBytes | undefined>(BATCH_SIZE, (asks) =>
    this.read(asks),
  );

  constructor(
    private readonly database: Database,
    private readonly workspaceAccess: WorkspaceAccess,
  ) {}

  /** Returns the live head of a path. @throws NotFound, also when the caller has no access to the workspace */
  async content(workspace: WorkspaceRef, encryptedPath: string): Promise<VersionBytes> {
    const content = await this.batches.load(accessKey(workspace), { workspace, encryptedPath });
    if (!content) throw new NotFound('file not found');
    return content;
  }

  /** All asks must come from one caller and one workspace. */
  private async read(asks: readonly Ask[]): Promise<(VersionBytes | undefined)[]> {
    const [first] = asks;
    if (!first) return [];
    const { id, caller } = first.workspace;
    const paths = asks.map(({ encryptedPath }) => encryptedPath);
    const values = [id, paths, ...(await this.workspaceAccess.admittedParameters(caller))];
    const rows = await this.database.run<VersionBytes & { place: number }>(fileStatements.heads, values);
    const found = new Map(rows.map(({ place, ...content }) => [place, content]));
    return asks.map((_, index) => found.get(index + 1));
  }
}
