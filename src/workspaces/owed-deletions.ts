import { Injectable } from '@nestjs/common';
import { Database, statement, type Tx } from '../platform/database/index.js';
import { type Debt, OwedToNodes } from './owed-to-nodes.js';
import type { DeletedWorkspace } from './purge-queue.js';
import { WorkspacePurge } from './workspace-purge.js';

export const owedDeletionStatements = {
  /** Takes all workspaces of user $1 out of lists and of reach; waits for deletions and creations that are under way. */
  owe: statement(
    'owed_deletions.owe',
    `WITH unlisted AS (DELETE FROM workspace_catalogue WHERE user_id = $1 RETURNING id)
     INSERT INTO owed_deletions (workspace_id, deleted_at) SELECT id, $2 FROM unlisted RETURNING workspace_id AS id`,
  ),

  page: statement(
    'owed_deletions.page',
    'SELECT workspace_id AS id FROM owed_deletions WHERE workspace_id > $1 ORDER BY workspace_id LIMIT $2',
  ),

  lock: statement(
    'owed_deletions.lock',
    `SELECT workspace_id AS id, deleted_at AS "deletedAt" FROM owed_deletions
     WHERE workspace_id = ANY ($1::uuid[]) ORDER BY workspace_id FOR UPDATE`,
  ),

  /** Also those that were already marked, by themselves. */
  mark: statement(
    'owed_deletions.mark',
    `UPDATE workspaces SET deleted_at = coalesce(deleted_at, $2), user_id = NULL
     WHERE id = ANY ($1::uuid[]) RETURNING id, user_id AS "userId"`,
  ),

  settled: statement(
    'owed_deletions.settled',
    'DELETE FROM owed_deletions WHERE workspace_id = ANY ($1::uuid[])',
  ),
};

interface Owed {
  readonly id: string;
  readonly deletedAt: Date;
}

/**
 * Workspaces on nodes whose account is deleted: from then on nobody owns them, and rows on the coordinator owe them the mark that
 * lets the purge begin. A row stays until its workspace is marked, also that of a workspace which the node does not have yet: its
 * creation may be waiting for the engine to end it.
 */
@Injectable()
export class OwedDeletions implements Debt {
  readonly what = 'mark the workspaces of deleted accounts';
  readonly page = owedDeletionStatements.page;

  constructor(
    private readonly database: Database,
    private readonly owed: OwedToNodes,
    private readonly purge: WorkspacePurge,
  ) {
    owed.add(this);
  }

  /** Run this under the lock of the user, in the transaction that deletes the account. */
  async owe(tx: Tx, userId: string, now: Date): Promise<string[]> {
    const rows = await tx.run<{ id: string }>(owedDeletionStatements.owe, [userId, now]);
    return rows.map(({ id }) => id);
  }

  /** After the commit. Never fails, and waits for no node that is silent. */
  settleSoon(workspaceIds: readonly string[]): Promise<void> {
    return this.owed.settleSoon(this, workspaceIds);
  }

  async settle(workspaceIds: readonly string[]): Promise<void> {
    for (const workspace of await this.mark(workspaceIds)) this.purge.begin(workspace);
  }

  private mark(workspaceIds: readonly string[]): Promise<DeletedWorkspace[]> {
    return this.database.sharedTransaction(async (tx) => {
      const owed = await tx.run<Owed>(owedDeletionStatements.lock, [workspaceIds]);
      const [first] = owed;
      if (!first) return [];
      const values = [owed.map(({ id }) => id), first.deletedAt];
      const marked = await tx.run<DeletedWorkspace>(owedDeletionStatements.mark, values);
      await tx.run(owedDeletionStatements.settled, [marked.map(({ id }) => id)]);
      return marked;
    }, workspaceIds[0]);
  }
}
