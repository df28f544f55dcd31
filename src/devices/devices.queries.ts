import { statement } from '../platform/database/index.js';

const COLUMNS = 'id, name, platform, last_seen_at AS "lastSeenAt", created_at AS "createdAt"';

export const deviceStatements = {
  /** Ids are UUIDv7, so their order is that of creation. */
  page: statement(
    'devices.page',
    `SELECT ${COLUMNS} FROM devices WHERE user_id = $1 AND id > $2 ORDER BY id LIMIT $3`,
  ),

  newest: statement(
    'devices.newest',
    `SELECT ${COLUMNS} FROM devices WHERE user_id = $1 ORDER BY id DESC LIMIT $2`,
  ),

  /** Under the lock of the user, unless there are $6 already: then nothing. */
  create: statement(
    'devices.create',
    `INSERT INTO devices (id, user_id, name, platform, created_at)
     SELECT $1, $2, $3, $4, $5
     WHERE NOT EXISTS (SELECT FROM devices WHERE user_id = $2 OFFSET $6::integer - 1)
     RETURNING id`,
  ),

  /** With its push subscriptions. Another user may have one under the same id: only those of this user's workspaces go. */
  delete: statement(
    'devices.delete',
    `WITH gone AS (
       DELETE FROM devices WHERE id = $1 AND user_id = $2 RETURNING id
     ), unsubscribed AS (
       DELETE FROM push_subscriptions s USING gone, workspaces w
       WHERE w.user_id = $2 AND s.workspace_id = w.id AND s.device_id = gone.id::text
     )
     SELECT id FROM gone`,
  ),

  /** Many requests at once see the same old time; the condition lets one of them write. */
  seen: statement(
    'devices.seen',
    `UPDATE devices SET last_seen_at = $3
     WHERE id = $1 AND user_id = $2 AND (last_seen_at IS NULL OR last_seen_at <= $4)`,
  ),

  names: statement(
    'devices.names',
    'SELECT id, name FROM devices WHERE user_id = $1 AND id = ANY ($2::uuid[])',
  ),
};
