import { Injectable } from '@nestjs/common';
import type { WorkspaceTx } from '../../platform/database/index.js';
import { EventBus } from '../../platform/events/index.js';
import { NotFound } from '../../platform/http/index.js';
import { type Counter, Metrics } from '../../platform/metrics.js';
import { CHANGES, type Committed, type LoggedChange, type WorkspaceEntity } from '../workspaces/index.js';
import type { FileEntity } from './files.entities.js';
import { logStatements } from './files.queries.js';

/** A file row, read under the workspace lock. */
export type FileRow = Readonly<
  Pick<FileEntity, 'id' | 'encryptedPath' | 'contentHash' | 'version' | 'isDeleted'>
>;

/** The ends of a workspace's log. */
export type LogBounds = Readonly<Pick<WorkspaceEntity, 'headCursor' | 'compactionFloor'>>;

/**
 * Locks a workspace's log until the transaction ends. Every writer of the log calls this or locks the same row in
 * put_documents, so changes become visible in cursor order.
 * @throws NotFound when the workspace has been deleted
 */
export async function lockLog(tx: WorkspaceTx, workspaceId: string): Promise<LogBounds> {
  const [log] = await tx.run<LogBounds>(logStatements.lock, [workspaceId]);
  if (!log) throw new NotFound('workspace not found');
  return log;
}

/** Returns the files at these paths, live or deleted. Call it under the lock. */
export function lockedFilesAt(
  tx: WorkspaceTx,
  workspaceId: string,
  encryptedPaths: readonly string[],
): Promise<FileRow[]> {
  return tx.run<FileRow>(logStatements.filesAt, [workspaceId, encryptedPaths]);
}

export interface Deletion {
  readonly workspaceId: string;
  readonly deviceId: string;
  /** Ids of live files, without duplicates, in the order in which they enter the log. */
  readonly fileIds: readonly string[];
  readonly now: Date;
}

/** Soft-deletes live files, logs one tombstone each and returns the new head. Call it under the lock. */
export async function logDeletions(tx: WorkspaceTx, deletion: Deletion): Promise<number> {
  const { workspaceId, fileIds, now, deviceId } = deletion;
  const [head] = await tx.run<{ headCursor: number }>(logStatements.appendDeletions, [
    workspaceId,
    fileIds,
    now,
    deviceId,
  ]);
  if (!head) throw new Error('the log was not locked');
  return head.headCursor;
}

export type ChangeKind = 'create' | 'update' | 'restore' | 'delete';

/** Every writer of the log announces its commits here: uploads, deletions, pushes and restores. */
@Injectable()
export class ChangePublisher {
  private readonly changes: Counter;

  constructor(
    private readonly bus: EventBus,
    metrics: Metrics,
  ) {
    this.changes = metrics.counter('cloud_sync_changes_total', 'Changes written to logs', ['kind']);
  }

  /**
   * Call it after COMMIT.
   * @param deviceId the device that made the changes and is not notified, or null
   * @param count the number of changes, all of one kind
   */
  changed(workspaceId: string, deviceId: string | null, kind: ChangeKind, count = 1): void {
    this.changes.add({ kind }, count);
    this.announce(workspaceId, { by: deviceId });
  }

  /**
   * Like `changed`, but for a single change, passed along as logged so that live rooms on this instance need not read
   * it. Danger: if called before COMMIT and the write is rolled back, it hides the change that gets this cursor
   * later.
   */
  logged(workspaceId: string, kind: ChangeKind, change: LoggedChange): void {
    this.changes.add({ kind });
    this.announce(workspaceId, { by: change.changedByDevice, change });
  }

  /** Like `changed`, for changes of several kinds that one device has made. */
  changedAll(workspaceId: string, deviceId: string, kinds: readonly ChangeKind[]): void {
    for (const kind of kinds) this.changes.add({ kind });
    if (kinds.length > 0) this.announce(workspaceId, { by: deviceId });
  }

  private announce(workspaceId: string, committed: Committed): void {
    this.bus.publish({ topic: CHANGES, key: workspaceId }, committed);
  }
}
