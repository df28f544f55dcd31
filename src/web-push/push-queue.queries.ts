import { statement } from '../platform/database/index.js';

/** The subscription has not been replaced since it was used. */
const IS_SAME = 'workspace_id = $1 AND device_id = $2 AND endpoint = $3 AND p256dh = $4 AND auth = $5';

/**
 * @param lock skips what another instance is about to claim; without it, this waits for that and then finds it claimed
 * @param owners a condition for those whose pushes may be sent
 */
const claim = (lock: string, owners: string): string => `WITH busy AS (
       SELECT * FROM unnest($5::uuid[], $6::integer[]) AS b (user_id, under_way)
     ), first AS (
       SELECT s.workspace_id, s.device_id, s.due_at, w.user_id
       FROM push_subscriptions s JOIN workspaces w ON w.id = s.workspace_id AND w.deleted_at IS NULL
       WHERE (s.due_at <= $1 OR s.due_at > $4) -- beyond any wait: written under a clock that was wrong
         ${owners}AND w.user_id <> ALL (SELECT user_id FROM busy WHERE under_way >= $7)
       ORDER BY s.due_at LIMIT $8
     ), placed AS (
       SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY due_at) AS place FROM first
     ), due AS (
       SELECT s.workspace_id, s.device_id, s.pending_changes, s.pending_changes AND s.pending_assets AS has_both,
              p.user_id
       FROM placed p JOIN push_subscriptions s USING (workspace_id, device_id) LEFT JOIN busy USING (user_id)
       WHERE p.place + coalesce(busy.under_way, 0) <= $7
         AND (s.due_at <= $1 OR s.due_at > $4) -- once more: another instance may have taken it meanwhile
       ORDER BY p.place + coalesce(busy.under_way, 0), s.due_at LIMIT $2
       ${lock}
     )
     UPDATE push_subscriptions s
     SET pending_changes = false, pending_assets = due.has_both, not_before = $3,
         due_at = CASE WHEN due.has_both THEN $3::timestamptz END
     FROM due WHERE s.workspace_id = due.workspace_id AND s.device_id = due.device_id
       AND (s.due_at <= $1 OR s.due_at > $4)
     RETURNING due.user_id AS "ownerId", s.workspace_id AS "workspaceId", s.device_id AS "deviceId", s.endpoint, s.p256dh,
               s.auth, s.failures, CASE WHEN due.pending_changes THEN 'changes' ELSE 'assets-changed' END AS type`;

const SKIP_LOCKED = 'FOR UPDATE OF s SKIP LOCKED';
const ACTIVE = `AND NOT EXISTS (SELECT 1 FROM users u WHERE u.id = w.user_id AND u.suspended_at IS NOT NULL)
         `;

export const queueStatements = {
  /**
   * Marks the subscriptions of changed workspaces as waiting for a push, except the device that made the change; a subscription
   * that already waits for one of this kind is not written again. Locks in a fixed order, so that two instances cannot deadlock.
   * $1, $2, $3: workspaces, kinds and devices; $4: the time.
   */
  mark: statement(
    'push_queue.mark',
    `WITH concerned AS (
       SELECT s.workspace_id, s.device_id,
              bool_or(a.type = 'changes') AS has_changes, bool_or(a.type = 'assets-changed') AS has_assets
       FROM unnest($1::uuid[], $2::text[], $3::text[]) AS a (workspace_id, type, by_device)
       JOIN push_subscriptions s ON s.workspace_id = a.workspace_id AND s.device_id IS DISTINCT FROM a.by_device
       WHERE s.workspace_id = ANY ($1) AND NOT CASE a.type WHEN 'changes' THEN s.pending_changes ELSE s.pending_assets END
       GROUP BY s.workspace_id, s.device_id
     ), locked AS (
       SELECT s.workspace_id, s.device_id FROM push_subscriptions s JOIN concerned USING (workspace_id, device_id)
       WHERE s.workspace_id = ANY ($1)
       ORDER BY s.workspace_id, s.device_id FOR NO KEY UPDATE OF s
     )
     UPDATE push_subscriptions s
     SET pending_changes = s.pending_changes OR c.has_changes,
         pending_assets = s.pending_assets OR c.has_assets,
         due_at = coalesce(s.due_at, greatest($4, s.not_before))
     FROM concerned c JOIN locked USING (workspace_id, device_id)
     WHERE s.workspace_id = ANY ($1) AND s.workspace_id = c.workspace_id AND s.device_id = c.device_id`,
  ),

  /**
   * Claims the pushes due at $1 for the caller, so that only one of several instances sends each. A subscription that waits for
   * both kinds gets the changes now and the other no sooner than $3, like everything that comes later. $2: the maximum number of
   * pushes. An owner gets no more than $7, including those already in progress ($5: owners, $6: the number for each), and owners
   * with the fewest go first. Owners with $7 and suspended owners are skipped; of the others only the $8 pushes due first are
   * considered, or a long queue would be sorted each time.
   */
  claim: statement('push_queue.claim', claim(SKIP_LOCKED, ACTIVE), {
    onNodes: claim('', ''),
    onPart: claim(SKIP_LOCKED, ''),
  }),

  /** For a claim where the accounts are on another server. */
  suspendedOwners: statement(
    'push_queue.suspended_owners',
    'SELECT id FROM users WHERE suspended_at IS NOT NULL ORDER BY id',
  ),

  /**
   * Which of devices $2 in workspaces $1 may get no push, as 0-based places: the account or the device is deleted, and the node
   * does not know yet.
   */
  deleted: statement(
    'push_queue.deleted',
    `SELECT (asked.place - 1)::int AS place FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS asked (workspace, device, place)
     WHERE EXISTS (SELECT 1 FROM owed_deletions WHERE workspace_id = workspace)
       OR EXISTS (SELECT 1 FROM owed_unsubscriptions WHERE workspace_id = workspace AND device_id = device)`,
  ),

  /** Nothing was sent to these devices, so their next push need not wait. Locks in the order of `mark`. $3: the time. */
  release: statement(
    'push_queue.release',
    `WITH locked AS (
       SELECT device_id FROM push_subscriptions WHERE workspace_id = $1 AND device_id = ANY ($2::text[])
       ORDER BY device_id FOR NO KEY UPDATE
     )
     UPDATE push_subscriptions s
     SET not_before = NULL, due_at = CASE WHEN s.due_at IS NOT NULL THEN $3::timestamptz END
     FROM locked WHERE s.workspace_id = $1 AND s.device_id = locked.device_id`,
  ),

  delivered: statement('push_queue.delivered', `UPDATE push_subscriptions SET failures = 0 WHERE ${IS_SAME}`),

  gone: statement('push_queue.gone', `DELETE FROM push_subscriptions WHERE ${IS_SAME}`),

  /** $6: the kind to retry, or null; $7: the earliest time of the next push. */
  failed: statement(
    'push_queue.failed',
    `UPDATE push_subscriptions
     SET failures = failures + 1, not_before = $7,
         pending_changes = pending_changes OR coalesce($6 = 'changes', false),
         pending_assets = pending_assets OR coalesce($6 = 'assets-changed', false),
         due_at = CASE WHEN due_at IS NOT NULL OR $6::text IS NOT NULL THEN $7::timestamptz END
     WHERE ${IS_SAME}`,
  ),
};
