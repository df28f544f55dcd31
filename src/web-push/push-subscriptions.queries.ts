import { statement } from '../platform/database/index.js';

export const pushSubscriptionStatements = {
  /**
   * One per workspace and device. What the replaced one was waiting for is kept, and so is when the next push may
   * leave; what its endpoint has failed at is not. $7: how many a workspace may have. Whoever marks subscriptions locks many
   * in an order of its own: what it holds is passed over and stays until the next one subscribes.
   */
  put: statement(
    'push_subscriptions.put',
    `WITH surplus AS MATERIALIZED (
       SELECT device_id FROM push_subscriptions WHERE workspace_id = $1 AND device_id <> $2
       ORDER BY updated_at DESC, device_id OFFSET $7::integer - 1
     ), held AS MATERIALIZED (
       SELECT device_id FROM push_subscriptions
       WHERE workspace_id = $1 AND device_id IN (SELECT device_id FROM surplus) FOR UPDATE SKIP LOCKED
     ), crowded_out AS (
       DELETE FROM push_subscriptions WHERE workspace_id = $1 AND device_id IN (SELECT device_id FROM held)
     )
     INSERT INTO push_subscriptions AS s (workspace_id, device_id, endpoint, p256dh, auth, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (workspace_id, device_id) DO UPDATE
     SET endpoint = excluded.endpoint, p256dh = excluded.p256dh, auth = excluded.auth, updated_at = excluded.updated_at,
         failures = 0,
         not_before = CASE WHEN s.failures = 0 THEN s.not_before END,
         due_at = CASE WHEN s.failures > 0 AND s.due_at IS NOT NULL THEN excluded.updated_at ELSE s.due_at END`,
  ),

  /** Those of a user beyond $4, the ones that were renewed longest ago; never that of $2 and $3. What is locked is passed over. */
  crowdOut: statement(
    'push_subscriptions.crowd_out',
    `WITH surplus AS MATERIALIZED (
       SELECT s.workspace_id, s.device_id FROM workspaces w JOIN push_subscriptions s ON s.workspace_id = w.id
       WHERE w.user_id = $1 AND w.deleted_at IS NULL AND (s.workspace_id, s.device_id) <> ($2::uuid, $3::text)
       ORDER BY s.updated_at DESC, s.workspace_id, s.device_id OFFSET $4::integer - 1
     ), held AS MATERIALIZED (
       SELECT workspace_id, device_id FROM push_subscriptions
       WHERE (workspace_id, device_id) IN (SELECT workspace_id, device_id FROM surplus) FOR UPDATE SKIP LOCKED
     )
     DELETE FROM push_subscriptions
     WHERE (workspace_id, device_id) IN (SELECT workspace_id, device_id FROM held)`,
  ),

  remove: statement(
    'push_subscriptions.remove',
    'DELETE FROM push_subscriptions WHERE workspace_id = $1 AND device_id = $2',
  ),

  /** Locks in the order of those who mark. */
  purge: statement(
    'push_subscriptions.purge',
    `WITH locked AS MATERIALIZED (
       SELECT device_id FROM push_subscriptions WHERE workspace_id = $1 ORDER BY device_id LIMIT $2 FOR UPDATE
     )
     DELETE FROM push_subscriptions WHERE workspace_id = $1 AND device_id IN (SELECT device_id FROM locked)
     RETURNING device_id`,
  ),
};
