import { statement } from '../../platform/database/index.js';

const LOCKED =
  'user_id AS "userId", name, verification_hash AS "verificationHash", deleted_at IS NOT NULL AS "isDeleted"';

export const lockStatements = {
  lock: statement('workspaces.lock', `SELECT ${LOCKED} FROM {workspaces} WHERE id = $1 FOR NO KEY UPDATE`, {
    // A shard that moves loses the lock of a SELECT.
    onNodes: `UPDATE {workspaces} SET updated_at = updated_at WHERE id = $1 RETURNING ${LOCKED}`,
  }),
};

export const deletionStatements = {
  /**
   * Marks all live workspaces of a user as deleted and removes their owner; the purge deletes the data. Locks the rows in the order
   * of their ids, so that two such requests cannot deadlock; waits for writes in progress.
   */
  deleteAllOfUser: statement(
    'workspaces.delete_all_of_user',
    `WITH locked AS (
     SELECT id FROM {workspaces} WHERE user_id = $1 AND deleted_at IS NULL ORDER BY id FOR NO KEY UPDATE
   )
   UPDATE {workspaces} w SET deleted_at = $2, user_id = NULL FROM locked WHERE w.id = locked.id
   RETURNING w.id, w.user_id AS "userId"`,
    {
      // Rows on several nodes cannot be locked in a given order; the engine detects deadlocks. No foreign key to the user clears
      // the owner of workspaces that were marked before, so this statement does.
      onNodes: `UPDATE {workspaces} SET deleted_at = coalesce(deleted_at, $2), user_id = NULL WHERE user_id = $1
     RETURNING id, user_id AS "userId"`,
    },
  ),
};

export const purgeStatements = {
  /** Takes the oldest of each user first, so that thousands of one user do not hide the few of another. */
  deleted: statement(
    'workspaces.deleted',
    `SELECT id, "userId" FROM (
     SELECT id, user_id AS "userId", deleted_at, row_number() OVER (PARTITION BY user_id ORDER BY deleted_at) AS place
     FROM {workspaces} WHERE deleted_at IS NOT NULL
   ) d ORDER BY place, deleted_at LIMIT $1`,
  ),

  /** Whatever is inserted for a workspace locks its row first, so nothing is inserted until the transaction ends. */
  lockRow: statement(
    'workspaces.lock_deleted',
    'SELECT id FROM {workspaces} WHERE id = $1 AND deleted_at IS NOT NULL FOR UPDATE',
  ),

  /** Run it after `lockRow`. No foreign key protects the rows of the workspace. */
  removeRow: statement(
    'workspaces.remove_row',
    `DELETE FROM {workspaces} WHERE id = $1 AND deleted_at IS NOT NULL
     ${['blobs', 'files', 'versions', 'changes'].map((table) => `AND NOT EXISTS (SELECT 1 FROM {${table}} WHERE workspace_id = $1)`).join(' ')}`,
  ),
};
