/** Topics of the event bus whose key is a workspace's id. */

/** Its change log has grown; by: the device that made the change. */
export const CHANGES = 'changes';

/** Its assets have changed. */
export const ASSETS = 'assets';

/** It was deleted. */
export const WORKSPACE_DELETED = 'workspace-deleted';
