import { Injectable } from '@nestjs/common';
import { type Acting, AuditLog } from '../audit/index.js';
import { Database, statement, type Tx } from '../platform/database/index.js';
import { EventBus } from '../platform/events/index.js';
import { OwedDeletions } from './owed-deletions.js';
import { WORKSPACE_DELETED } from './topics.js';
import type { DeletedWorkspace } from './purge-queue.js';
import { WorkspaceCatalogue } from './workspace-catalogue.js';
import { WorkspacePurge } from './workspace-purge.js';

const deleteOne = statement(
  'workspaces.delete',
  'UPDATE workspaces SET deleted_at = $2 WHERE id = $1 AND deleted_at IS NULL RETURNING id, user_id AS "userId", name',
);

/**
 * Marks all live workspaces of a user as deleted and removes their owner; the purge deletes the data. Locks the rows in the order
 * of their ids, so that two such requests cannot deadlock; waits for writes in progress.
 */
const deleteAllOfUser = statement(
  'workspaces.delete_all_of_user',
  `WITH locked AS (
     SELECT id FROM workspaces WHERE user_id = $1 AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE
   )
   UPDATE workspaces w SET deleted_at = $2, user_id = NULL FROM locked WHERE w.id = locked.id
   RETURNING w.id, w.user_id AS "userId"`,
);

/** Deletes workspaces by setting a mark and publishing it after the commit; rows and blobs are purged in the background. */
@Injectable()
export class WorkspaceDeletion {
  constructor(
    private readonly database: Database,
    private readonly purge: WorkspacePurge,
    private readonly bus: EventBus,
    private readonly catalogue: WorkspaceCatalogue,
    private readonly owed: OwedDeletions,
    private readonly audit: AuditLog,
  ) {}

  /** When this resolves, the workspace is gone for every caller. Returns whether it existed. */
  async delete(id: string, now: Date, by: Acting): Promise<boolean> {
    const deleted = await this.database.sharedTransaction((tx) => this.deleteListed(tx, id, now, by), id);
    this.announce(deleted);
    return deleted.length > 0;
  }

  /**
   * Marks all of a user's workspaces in the transaction that deletes the account; returns their ids for `announceAll` after the
   * commit. On nodes, of which one may be away, the marks are owed.
   */
  async markAllOf(tx: Tx, userId: string, now: Date): Promise<string[]> {
    if (this.database.isDistributed) return this.owed.owe(tx, userId, now);
    const deleted = await tx.run<DeletedWorkspace>(deleteAllOfUser, [userId, now]);
    return deleted.map(({ id }) => id);
  }

  private async deleteListed(tx: Tx, id: string, now: Date, by: Acting): Promise<DeletedWorkspace[]> {
    const deleted = await tx.run<DeletedWorkspace & { name: string }>(deleteOne, [id, now]);
    await this.catalogue.remove(tx, [id]);
    for (const { userId, name } of deleted) {
      const details = { workspace: name, workspaceId: id };
      if (userId !== null)
        await this.audit.record({ action: 'workspace.deleted', userId, ...by, details }, tx);
    }
    return deleted;
  }

  /** As `announce`, of workspaces of a deleted account. */
  async announceAll(ids: readonly string[]): Promise<void> {
    if (!this.database.isDistributed) this.announce(ids.map((id) => ({ id, userId: null })));
    else {
      for (const id of ids) this.bus.publish({ topic: WORKSPACE_DELETED, key: id });
      await this.owed.settleSoon(ids);
    }
  }

  /**
   * Ends other work on the workspaces and starts to purge them. Danger: call this only after the commit, because subscribers read
   * the rows.
   */
  private announce(workspaces: readonly DeletedWorkspace[]): void {
    for (const workspace of workspaces) {
      this.bus.publish({ topic: WORKSPACE_DELETED, key: workspace.id });
      this.purge.begin(workspace);
    }
  }
}
