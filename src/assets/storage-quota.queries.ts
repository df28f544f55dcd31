import { statement } from '../platform/database/index.js';

export const storageStatements = {
  account: statement(
    'storage.account',
    `SELECT used_bytes AS "usedBytes", addon_bytes AS "addonBytes", locked FROM storage_accounts WHERE user_id = $1`,
  ),

  open: statement(
    'storage.open',
    `INSERT INTO storage_accounts (user_id) VALUES ($1) ON CONFLICT (user_id) DO NOTHING`,
  ),

  lock: statement(
    'storage.lock',
    `SELECT used_bytes AS "usedBytes", addon_bytes AS "addonBytes", locked
     FROM storage_accounts WHERE user_id = $1 FOR NO KEY UPDATE`,
  ),

  /** $3: what the plan gives. No row when it does not fit. */
  reserve: statement(
    'storage.reserve',
    `UPDATE storage_accounts SET used_bytes = used_bytes + $2
     WHERE user_id = $1 AND NOT locked AND used_bytes + $2 <= addon_bytes + $3
     RETURNING used_bytes`,
  ),

  /** Null leaves a part as it is. */
  set: statement(
    'storage.set',
    `INSERT INTO storage_accounts AS a (user_id, addon_bytes, locked)
     VALUES ($1, coalesce($2::bigint, 0), coalesce($3::boolean, false))
     ON CONFLICT (user_id) DO UPDATE SET addon_bytes = coalesce($2, a.addon_bytes), locked = coalesce($3, a.locked)`,
  ),

  /** One statement, so that both sides are of one moment. */
  drift: statement(
    'storage.drift',
    `SELECT user_id AS "userId", coalesce(used_bytes, 0) AS "usedBytes", coalesce(bytes, 0)::bigint AS "actualBytes"
     FROM storage_accounts
     FULL JOIN (SELECT w.user_id, sum(a.size) AS bytes
                FROM assets a JOIN workspaces w ON w.id = a.workspace_id GROUP BY 1) owned USING (user_id)
     WHERE coalesce(used_bytes, 0) <> coalesce(bytes, 0)
     ORDER BY 1`,
  ),

  /** To be run under the account's lock, as a statement of its own: its sum is of what is committed by then. */
  recount: statement(
    'storage.recount',
    `UPDATE storage_accounts
     SET used_bytes = (SELECT coalesce(sum(a.size), 0)
                       FROM workspaces w JOIN assets a ON a.workspace_id = w.id WHERE w.user_id = $1)
     WHERE user_id = $1`,
  ),
};
