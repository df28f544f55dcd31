import { Injectable } from '@nestjs/common';
import { Database, statement, type Tx } from '../platform/database/index.js';
import { EventBus } from '../platform/events/index.js';
import { WORKSPACE_DELETED } from './topics.js';
import type { DeletedWorkspace } from './deleted-in-turn.js';
import { WorkspacePurge } from './workspace-purge.js';

const deleteOne = statement(
  'workspaces.delete',
  'UPDATE workspaces SET deleted_at = $2 WHERE id = $1 AND deleted_at IS NULL RETURNING id, user_id AS "userId"',
);

/**
 * Marks all live workspaces of a user as deleted and takes their owner away; the purge removes them. Locks them in the
 * order of their ids, so that two such requests cannot lock each other out; waits for writes that are under way.
 */
const deleteAllOfUser = statement(
  'workspaces.delete_all_of_user',
  `WITH locked AS (
     SELECT id FROM workspaces WHERE user_id = $1 AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE
   )
   UPDATE workspaces w SET deleted_at = $2, user_id = NULL FROM locked WHERE w.id = locked.id
   RETURNING w.id, w.user_id AS "userId"`,
);

/** Workspaces are deleted by a mark, which is told of once it is committed; rows and bytes go in the background. */
@Injectable()
export class WorkspaceDeletion {
  constructor(
    private readonly database: Database,
    private readonly purge: WorkspacePurge,
    private readonly bus: EventBus,
  ) {}

  /** Gone for every caller when this resolves. Says whether it was there. */
  async delete(id: string, now: Date): Promise<boolean> {
    const deleted = await this.database.run<DeletedWorkspace>(deleteOne, [id, now]);
    this.announce(deleted);
    return deleted.length > 0;
  }

  /** All of a user's; returns them for `announce` after the commit. */
  markAllOf(tx: Tx, userId: string, now: Date): Promise<DeletedWorkspace[]> {
    return tx.run<DeletedWorkspace>(deleteAllOfUser, [userId, now]);
  }

  /** Ends what others do with them, and begins to empty them. Not before the commit: who hears of it looks at the rows. */
  announce(workspaces: readonly DeletedWorkspace[]): void {
    for (const workspace of workspaces) {
      this.bus.publish({ topic: WORKSPACE_DELETED, key: workspace.id });
      this.purge.begin(workspace);
    }
  }
}
