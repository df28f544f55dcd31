import type { Topic } from '../platform/events/index.js';

/** What rooms tell of a row of the log, which `files/` writes; here because the topic carries it to modules below that one. */
export interface LoggedChange {
  readonly cursor: number;
  readonly encryptedPath: string;
  readonly action: 'upsert' | 'delete';
  readonly contentHash: string;
  readonly encryptedSize: number;
  readonly version: number;
  readonly changedByDevice: string | null;
}

/** What an instance says to itself of what it has committed. */
export interface Committed {
  /** The device that made the changes, or null. */
  readonly by: string | null;
  /** The change, where it is one and all of it is known. */
  readonly change?: LoggedChange;
}

/** Key: the id of a workspace whose log has new changes. */
export const CHANGES: Topic<Committed> = 'changes';

/** Key: the id of a workspace whose assets have changed. */
export const ASSETS = 'assets';

/** Key: the id of a workspace that was deleted. */
export const WORKSPACE_DELETED = 'workspace-deleted';
