import { Injectable } from '@nestjs/common';
import { Database, statement, type Tx } from '../platform/database/index.js';
import { EventBus } from '../platform/events/index.js';
import { WORKSPACE_DELETED } from './topics.js';
import { WorkspacePurge } from './workspace-purge.js';

const deleteOne = statement(
  'workspaces.delete',
  'UPDATE workspaces SET deleted_at = $2 WHERE id = $1 AND deleted_at IS NULL RETURNING id',
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
   RETURNING w.id`,
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
    const deleted = await this.database.run<{ id: string }>(deleteOne, [id, now]);
    this.announce(deleted.map((row) => row.id));
    return deleted.length > 0;
  }

  /** All of a user's; returns their ids, for `announce` after the commit. */
  async markAllOf(tx: Tx, userId: string, now: Date): Promise<string[]> {
    return (await tx.run<{ id: string }>(deleteAllOfUser, [userId, now])).map(({ id }) => id);
  }

  /** Ends what others do with them, and begins to empty them. Not before the commit: who hears of it looks at the rows. */
  announce(ids: readonly string[]): void {
    for (const key of ids) {
      this.bus.publish({ topic: WORKSPACE_DELETED, key });
      this.purge.begin(key);
    }
  }
}
