import { Injectable } from '@nestjs/common';
import { Database, statement, type Tx } from '../platform/database/index.js';
import { EventBus } from '../platform/events/index.js';
import { WORKSPACE_DELETED } from './topics.js';
import type { DeletedWorkspace } from './purge-queue.js';
import { WorkspaceCatalogue } from './workspace-catalogue.js';
import { WorkspacePurge } from './workspace-purge.js';

const deleteOne = statement(
  'workspaces.delete',
  'UPDATE workspaces SET deleted_at = $2 WHERE id = $1 AND deleted_at IS NULL RETURNING id, user_id AS "userId"',
);

/**
 * Marks all live workspaces of a user as deleted and removes their owner; the purge deletes the data. Locks the rows in the order
 * of their ids, so that two such requests cannot deadlock (on several nodes they can, and the transaction is repeated); waits for
 * writes in progress. On nodes $3 are the workspaces, so that no other node is needed.
 */
const deleteAllOfUser = statement(
  'workspaces.delete_all_of_user',
  `WITH locked AS (
     SELECT id FROM workspaces WHERE user_id = $1 AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE
   )
   UPDATE workspaces w SET deleted_at = $2, user_id = NULL FROM locked WHERE w.id = locked.id
   RETURNING w.id, w.user_id AS "userId"`,
  {
    onNodes: `UPDATE workspaces w SET deleted_at = $2, user_id = NULL
   WHERE id = ANY ($3::uuid[]) AND user_id = $1 AND deleted_at IS NULL
   RETURNING w.id, w.user_id AS "userId"`,
  },
);

/** Deletes workspaces by setting a mark and publishing it after the commit; rows and blobs are purged in the background. */
@Injectable()
export class WorkspaceDeletion {
  constructor(
    private readonly database: Database,
    private readonly purge: WorkspacePurge,
    private readonly bus: EventBus,
    private readonly catalogue: WorkspaceCatalogue,
  ) {}

  /** When this resolves, the workspace is gone for every caller. Returns whether it existed. */
  async delete(id: string, now: Date): Promise<boolean> {
    const deleted = this.database.isDistributed
      ? await this.database.sharedTransaction((tx) => this.deleteListed(tx, id, now))
      : await this.database.run<DeletedWorkspace>(deleteOne, [id, now]);
    this.announce(deleted);
    return deleted.length > 0;
  }

  /**
   * Marks all of a user's workspaces in a `Database.sharedTransaction`; returns them for `announce` after the commit.
   */
  async markAllOf(tx: Tx, userId: string, now: Date): Promise<DeletedWorkspace[]> {
    const ids = await this.catalogue.idsOf(tx, userId);
    if (ids?.length === 0) return [];
    const deleted = await tx.run<DeletedWorkspace>(deleteAllOfUser, [userId, now, ...(ids ? [ids] : [])]);
    await this.catalogue.remove(tx, ids ?? []);
    return deleted;
  }

  private async deleteListed(tx: Tx, id: string, now: Date): Promise<DeletedWorkspace[]> {
    const deleted = await tx.run<DeletedWorkspace>(deleteOne, [id, now]);
    await this.catalogue.remove(tx, [id]);
    return deleted;
  }

  /**
   * Ends other work on the workspaces and starts to purge them. Danger: call this only after the commit, because subscribers read
   * the rows.
   */
  announce(workspaces: readonly DeletedWorkspace[]): void {
    for (const workspace of workspaces) {
      this.bus.publish({ topic: WORKSPACE_DELETED, key: workspace.id });
      this.purge.begin(workspace);
    }
  }
}
