import type { Tx } from '../platform/database/index.js';
import { NotFound } from '../platform/http/index.js';
import { assetStatements } from './assets.queries.js';

interface WorkspaceRow {
  /** Null when the account is deleted, and the workspace with it. */
  readonly ownerId: string | null;
  readonly isDeleted: boolean;
}

/**
 * Locks a workspace until the transaction ends, by the row that writers of its log lock too; every writer of its assets
 * does so first, and then the account. So they come one after the other, none deadlocks with another, and none brings a deleted workspace back to life.
 * @returns whose quota its assets count to. @throws NotFound when it has been deleted
 */
export async function lockWorkspace(tx: Tx, workspaceId: string): Promise<string> {
  const [workspace] = await tx.run<WorkspaceRow>(assetStatements.lockWorkspace, [workspaceId]);
  if (!workspace || workspace.isDeleted || workspace.ownerId === null)
    throw new NotFound('workspace not found');
  return workspace.ownerId;
}

/**
 * Locks a workspace, deleted or not: for the purge, which alone may work on a deleted one. Null: its account is gone;
 * undefined: its row is.
 */
export async function lockWorkspaceForPurge(tx: Tx, workspaceId: string): Promise<string | null | undefined> {
  const [workspace] = await tx.run<WorkspaceRow>(assetStatements.lockWorkspace, [workspaceId]);
  return workspace?.ownerId;
}
