import { type WorkspaceTx } from '../../platform/database/index.js';
import { lockStatements } from './workspaces.queries.js';

/** The row of a workspace, deleted or not. A deleted one keeps its row until it is empty. */
export interface LockedWorkspace {
  /** Null when the account, and the workspace with it, is deleted. */
  readonly userId: string | null;
  readonly name: string;
  /** Null before encryption is set up. */
  readonly verificationHash: string | null;
  readonly isDeleted: boolean;
}

/** Locks a workspace until the transaction ends: the row that writers of its log lock. Undefined without a row. */
export async function lockWorkspaceRow(tx: WorkspaceTx, id: string): Promise<LockedWorkspace | undefined> {
  const [row] = await tx.run<LockedWorkspace>(lockStatements.lock, [id]);
  return row;
}
