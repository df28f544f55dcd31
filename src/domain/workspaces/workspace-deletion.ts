import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { type Acting, AuditLog } from '../auth/audit/index.js';
import { Database, type Tx } from '../../platform/database/index.js';
import { EventBus } from '../../platform/events/index.js';
import { WORKSPACE_DELETED } from './topics.js';
import type { DeletedWorkspace } from './purge-queue.js';
import { WorkspaceEntity } from './workspace.entity.js';
import { WorkspacePurge } from './workspace-purge.js';
import { deletionStatements } from './workspaces.queries.js';

/** Deletes workspaces by setting a mark and publishing it after the commit; rows and blobs are purged in the background. */
@Injectable()
export class WorkspaceDeletion {
  constructor(
    private readonly database: Database,
    private readonly purge: WorkspacePurge,
    private readonly bus: EventBus,
    private readonly audit: AuditLog,
  ) {}

  /** When this resolves, the workspace is gone for every caller. Returns whether it existed. */
  async delete(id: string, now: Date, by: Acting): Promise<boolean> {
    const deleted = await this.database.sharedTransaction((tx) => this.mark(tx, id, now, by), id);
    if (deleted) this.announce([deleted]);
    return deleted !== null;
  }

  /**
   * Marks all of a user's workspaces in the transaction that deletes the account; returns their ids for `announceAll` after the
   * commit.
   */
  async markAllOf(tx: Tx, userId: string, now: Date): Promise<string[]> {
    const deleted = await tx.run<DeletedWorkspace>(deletionStatements.deleteAllOfUser, [userId, now]);
    return deleted.map(({ id }) => id);
  }

  private async mark(tx: Tx, id: string, now: Date, by: Acting): Promise<DeletedWorkspace | null> {
    const workspaces = tx.manager.getRepository(WorkspaceEntity);
    const { affected } = await workspaces.update({ id, deletedAt: IsNull() }, { deletedAt: now });
    if (affected !== 1) return null;
    const { userId, name } = await workspaces.findOneByOrFail({ id }); // the update holds the row
    const details = { workspace: name, workspaceId: id };
    if (userId !== null) await this.audit.record({ action: 'workspace.deleted', userId, ...by, details }, tx);
    return { id, userId };
  }

  /** As `announce`, of workspaces of a deleted account. */
  announceAll(ids: readonly string[]): void {
    this.announce(ids.map((id) => ({ id, userId: null })));
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
