import type { Topic } from '../../platform/events/index.js';

/**
 * The part of a change-log row that rooms send to clients. `files/` writes the log; the type is here because the topic carries it
 * to modules that `files/` depends on.
 */
export interface LoggedChange {
  readonly cursor: number;
  readonly encryptedPath: string;
  readonly action: 'upsert' | 'delete';
  readonly contentHash: string;
  readonly encryptedSize: number;
  readonly version: number;
  readonly changedByDevice: string | null;
}

/** An instance publishes this to itself about its own commits. */
export interface Committed {
  /** The device that made the changes, or null. */
  readonly by: string | null;
  /** The change, if it is a single one and all its fields are known. */
  readonly change?: LoggedChange;
}

/** Key: the id of a workspace whose log has new changes. */
export const CHANGES: Topic<Committed> = 'changes';

/** Key: the id of a workspace whose assets have changed. */
export const ASSETS = 'assets';

/** Key: the id of a workspace that was deleted. */
export const WORKSPACE_DELETED = 'workspace-deleted';
