import { statement } from '../../platform/database/index.js';

export const deviceStatements = {
  /**
   * Deletes the push subscriptions of device $1. Another user may have a subscription with the same device id, so only those in the
   * workspaces of user $2 are deleted.
   */
  unsubscribe: statement(
    'devices.unsubscribe',
    `DELETE FROM {push_subscriptions} s USING {workspaces} w
     WHERE w.user_id = $2 AND s.workspace_id = w.id AND s.device_id = $1`,
  ),
};
