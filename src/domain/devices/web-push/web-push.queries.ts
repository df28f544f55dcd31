import { statement } from '../../../platform/database/index.js';

const SURPLUS = `WITH surplus AS MATERIALIZED (
       SELECT s.workspace_id, s.device_id FROM {workspaces} w JOIN {push_subscriptions} s ON s.workspace_id = w.id
       WHERE w.user_id = $1 AND w.deleted_at IS NULL AND (s.workspace_id, s.device_id) <> ($2::uuid, $3::text)
       ORDER BY s.updated_at DESC, s.workspace_id, s.device_id OFFSET $4::integer - 1
     )`;

export const pushSubscriptionStatements = {
  /**
   * Deletes a workspace's subscriptions beyond $3, least recently renewed first, but never that of $2. `mark` locks many
   * subscriptions in its own order: rows that it has locked are skipped, and stay until the next subscription. A separate
   * statement: within one that inserts, the engine that distributes tables reads its own intermediate results in another format.
   */
  crowdOutOfWorkspace: statement(
    'push_subscriptions.crowd_out_of_workspace',
    `WITH surplus AS MATERIALIZED (
       SELECT device_id FROM {push_subscriptions} WHERE workspace_id = $1 AND device_id <> $2
       ORDER BY updated_at DESC, device_id OFFSET $3::integer - 1
     ), held AS MATERIALIZED (
       SELECT device_id FROM {push_subscriptions}
       WHERE workspace_id = $1 AND device_id IN (SELECT device_id FROM surplus) FOR UPDATE SKIP LOCKED
     )
     DELETE FROM {push_subscriptions} WHERE workspace_id = $1 AND device_id IN (SELECT device_id FROM held)`,
  ),

  /**
   * Stores one subscription per workspace and device. A replaced subscription's pending push, and the time before which the next
   * one may not be sent, are kept; the failures of its endpoint are not.
   */
  put: statement(
    'push_subscriptions.put',
    `INSERT INTO {push_subscriptions} AS s (workspace_id, device_id, endpoint, p256dh, auth, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (workspace_id, device_id) DO UPDATE
     SET endpoint = excluded.endpoint, p256dh = excluded.p256dh, auth = excluded.auth, updated_at = excluded.updated_at,
         failures = 0,
         not_before = CASE WHEN s.failures = 0 THEN s.not_before END,
         due_at = CASE WHEN s.failures > 0 AND s.due_at IS NOT NULL THEN excluded.updated_at ELSE s.due_at END`,
  ),

  /**
   * Deletes a user's subscriptions beyond $4, least recently renewed first, but never the one of $2 and $3. Skips locked rows;
   * on several nodes, which cannot lock together, it waits for them.
   */
  crowdOut: statement(
    'push_subscriptions.crowd_out',
    `${SURPLUS}, held AS MATERIALIZED (
       SELECT workspace_id, device_id FROM {push_subscriptions}
       WHERE (workspace_id, device_id) IN (SELECT workspace_id, device_id FROM surplus) FOR UPDATE SKIP LOCKED
     )
     DELETE FROM {push_subscriptions}
     WHERE (workspace_id, device_id) IN (SELECT workspace_id, device_id FROM held)`,
    {
      onNodes: `${SURPLUS}
     DELETE FROM {push_subscriptions}
     WHERE (workspace_id, device_id) IN (SELECT workspace_id, device_id FROM surplus)`,
    },
  ),

  /** Locks in the order of `mark`. */
  purge: statement(
    'push_subscriptions.purge',
    `WITH locked AS MATERIALIZED (
       SELECT device_id FROM {push_subscriptions} WHERE workspace_id = $1 ORDER BY device_id LIMIT $2 FOR UPDATE
     )
     DELETE FROM {push_subscriptions} WHERE workspace_id = $1 AND device_id IN (SELECT device_id FROM locked)
     RETURNING device_id`,
  ),
};

export const pushQueueStatements = {
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
       JOIN {push_subscriptions} s ON s.workspace_id = a.workspace_id AND s.device_id IS DISTINCT FROM a.by_device
       WHERE s.workspace_id = ANY ($1) AND NOT CASE a.type WHEN 'changes' THEN s.pending_changes ELSE s.pending_assets END
       GROUP BY s.workspace_id, s.device_id
     ), locked AS (
       SELECT s.workspace_id, s.device_id FROM {push_subscriptions} s JOIN concerned USING (workspace_id, device_id)
       WHERE s.workspace_id = ANY ($1)
       ORDER BY s.workspace_id, s.device_id FOR NO KEY UPDATE OF s
     )
     UPDATE {push_subscriptions} s
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
   * with the fewest go first. Owners with $7 in progress are skipped, so the caller gives suspended owners that number; of the
   * others only the $8 pushes due first are considered, or a long queue would be sorted each time.
   */
  claim: statement(
    'push_queue.claim',
    `WITH busy AS (
       SELECT * FROM unnest($5::uuid[], $6::integer[]) AS b (user_id, under_way)
     ), first AS (
       SELECT s.workspace_id, s.device_id, s.due_at, w.user_id
       FROM {push_subscriptions} s JOIN {workspaces} w ON w.id = s.workspace_id AND w.deleted_at IS NULL
       WHERE (s.due_at <= $1 OR s.due_at > $4) -- beyond any wait: written under a clock that was wrong
         AND w.user_id NOT IN (SELECT user_id FROM busy WHERE under_way >= $7)
       ORDER BY s.due_at LIMIT $8
     ), placed AS (
       SELECT *, row_number() OVER (PARTITION BY user_id ORDER BY due_at) AS place FROM first
     ), due AS (
       SELECT s.workspace_id, s.device_id, s.pending_changes, s.pending_changes AND s.pending_assets AS has_both,
              p.user_id
       FROM placed p JOIN {push_subscriptions} s USING (workspace_id, device_id) LEFT JOIN busy USING (user_id)
       WHERE p.place + coalesce(busy.under_way, 0) <= $7
         AND (s.due_at <= $1 OR s.due_at > $4) -- once more: another instance may have taken it meanwhile
       ORDER BY p.place + coalesce(busy.under_way, 0), s.due_at LIMIT $2
       FOR UPDATE OF s SKIP LOCKED
     )
     UPDATE {push_subscriptions} s
     SET pending_changes = false, pending_assets = due.has_both, not_before = $3,
         due_at = CASE WHEN due.has_both THEN $3::timestamptz END
     FROM due WHERE s.workspace_id = due.workspace_id AND s.device_id = due.device_id
       AND (s.due_at <= $1 OR s.due_at > $4)
     RETURNING due.user_id AS "ownerId", s.workspace_id AS "workspaceId", s.device_id AS "deviceId", s.endpoint, s.p256dh,
               s.auth, s.failures, CASE WHEN due.pending_changes THEN 'changes' ELSE 'assets-changed' END AS type`,
  ),

  /** Nothing was sent to these devices, so their next push need not wait. Locks in the order of `mark`. $3: the time. */
  release: statement(
    'push_queue.release',
    `WITH locked AS (
       SELECT device_id FROM {push_subscriptions} WHERE workspace_id = $1 AND device_id = ANY ($2::text[])
       ORDER BY device_id FOR NO KEY UPDATE
     )
     UPDATE {push_subscriptions} s
     SET not_before = NULL, due_at = CASE WHEN s.due_at IS NOT NULL THEN $3::timestamptz END
     FROM locked WHERE s.workspace_id = $1 AND s.device_id = locked.device_id`,
  ),

  /**
   * Changes only the subscription that was used, $1 to $5. $6: the kind to retry, or null; $7: the earliest time of the next
   * push.
   */
  failed: statement(
    'push_queue.failed',
    `UPDATE {push_subscriptions}
     SET failures = failures + 1, not_before = $7,
         pending_changes = pending_changes OR coalesce($6 = 'changes', false),
         pending_assets = pending_assets OR coalesce($6 = 'assets-changed', false),
         due_at = CASE WHEN due_at IS NOT NULL OR $6::text IS NOT NULL THEN $7::timestamptz END
     WHERE workspace_id = $1 AND device_id = $2 AND endpoint = $3 AND p256dh = $4 AND auth = $5`,
  ),
};
