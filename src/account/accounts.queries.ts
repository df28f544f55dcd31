import { statement } from '../platform/database/index.js';

/** The columns of a listed account; `u` is its row in `users`. */
const ACCOUNT = `
  u.id, u.email, u.name, u.created_at AS "createdAt", u.suspended_at AS "suspendedAt",
  greatest(
    (SELECT max(updated_at) FROM auth_sessions WHERE user_id = u.id),
    (SELECT max(last_used_at) FROM access_tokens WHERE user_id = u.id),
    (SELECT max(last_seen_at) FROM devices WHERE user_id = u.id)
  ) AS "lastSeenAt",
  (SELECT count(*)::int FROM workspaces WHERE user_id = u.id AND deleted_at IS NULL) AS workspaces,
  (SELECT coalesce(sum(document_bytes), 0)::bigint FROM workspaces WHERE user_id = u.id AND deleted_at IS NULL) AS "documentBytes",
  coalesce((SELECT used_bytes FROM storage_accounts WHERE user_id = u.id), 0) AS "assetBytes"`;

export const accountsStatements = {
  /**
   * Up to $1 accounts in the order of their addresses, above $2; with $3, those that have it in address or name. Walks the
   * index on addresses, so a page costs no more with 100,000 accounts.
   */
  page: statement(
    'accounts.page',
    `SELECT ${ACCOUNT} FROM users u
     WHERE email > $2
       AND ($3 = '' OR strpos(lower(email), lower($3)) > 0 OR strpos(lower(name), lower($3)) > 0)
     ORDER BY email LIMIT $1`,
  ),

  /** One account, and what can sign in to it at $2. */
  one: statement(
    'accounts.one',
    `SELECT ${ACCOUNT},
       (SELECT count(*)::int FROM auth_sessions WHERE user_id = u.id AND expires_at > $2) AS sessions,
       (SELECT count(*)::int FROM access_tokens
        WHERE user_id = u.id AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)) AS tokens,
       (SELECT count(*)::int FROM devices WHERE user_id = u.id) AS devices
     FROM users u WHERE u.id = $1`,
  ),
};
