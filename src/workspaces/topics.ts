import type { Topic } from '../platform/events/index.js';

/** A row of the log. */
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

/** Topics of the event bus whose key is a workspace's id. */

/** A workspace's log has new changes. */
export const CHANGES: Topic<Committed> = 'changes';

/** Its assets have changed. */
export const ASSETS = 'assets';

/** It was deleted. */
export const WORKSPACE_DELETED = 'workspace-deleted';
