/** Topics of the event bus whose key is a workspace's id. */

/** A workspace's log has new changes. `by`: the device that made them, where it is known. */
export const CHANGES = 'changes';

/** Its assets have changed. */
export const ASSETS = 'assets';

/** It was deleted. */
export const WORKSPACE_DELETED = 'workspace-deleted';
