import { ofWorkspace, statement } from '../../platform/database/index.js';

export const accountStatements = {
  /**
   * The workspace $1 and its contents. Versions and attachments are counted up to $2 + 1, so that a page does not get slower with
   * the size of the workspace.
   */
  workspace: ofWorkspace(
    'account.workspace',
    `SELECT w.id, w.name, w.live_files AS files, w.document_bytes AS "documentBytes", w.created_at AS "createdAt",
            (SELECT changed_at FROM {changes} WHERE workspace_id = $1 ORDER BY cursor DESC LIMIT 1) AS "changedAt",
            (SELECT count(*)::int FROM (SELECT 1 FROM {versions} WHERE workspace_id = $1 LIMIT $2::int + 1) v) AS versions,
            a.assets, a."assetBytes"
     FROM {workspaces} w CROSS JOIN LATERAL (
       SELECT count(*)::int AS assets, coalesce(sum(size), 0)::bigint AS "assetBytes"
       FROM (SELECT size FROM {assets} WHERE workspace_id = $1 LIMIT $2::int + 1) a
     ) a WHERE w.id = $1 AND w.deleted_at IS NULL`,
  ),

  /** Stores the ids of the user at the payment provider, if there are any. */
  oweCancellation: statement(
    'account.owe_cancellation',
    `INSERT INTO owed_cancellations (customer_id, subscription_id, since)
     SELECT customer_id, provider_subscription_id, $2
     FROM users u LEFT JOIN payment_customers c ON c.user_id = u.id LEFT JOIN subscriptions s ON s.user_id = u.id
     WHERE u.id = $1 AND (customer_id IS NOT NULL OR provider_subscription_id IS NOT NULL)`,
  ),

  /** Creates an account with the address $1, which counts as verified; returns no row if the address has an account. */
  join: statement(
    'account.join',
    `WITH joined AS (
       INSERT INTO users (email, name, email_verified, created_at, updated_at) VALUES ($1, $2, true, $4, $4)
       ON CONFLICT (email) DO NOTHING RETURNING id
     )
     INSERT INTO auth_accounts (user_id, account_id, provider_id, password, created_at, updated_at)
     SELECT id, id::text, 'credential', $3, $4, $4 FROM joined
     RETURNING user_id AS id`,
  ),
};

/** The columns of a listed account; `u` is its row in `users`. */
const ACCOUNT = `
  u.id, u.email, u.name, u.created_at AS "createdAt", u.suspended_at AS "suspendedAt", u.promoted_at AS "promotedAt",
  greatest(
    (SELECT max(updated_at) FROM auth_sessions WHERE user_id = u.id),
    (SELECT max(last_used_at) FROM access_tokens WHERE user_id = u.id),
    (SELECT max(last_seen_at) FROM devices WHERE user_id = u.id)
  ) AS "lastSeenAt",
  coalesce((SELECT used_bytes FROM storage_accounts WHERE user_id = u.id), 0) AS "assetBytes"`;

export const accountsStatements = {
  /**
   * Up to $1 accounts in the order of their addresses, above $2; with $3, only those with that text in address or name. Scans the
   * index on addresses, so a page costs no more with 100,000 accounts.
   */
  page: statement(
    'accounts.page',
    `SELECT ${ACCOUNT} FROM users u
     WHERE email > $2
       AND ($3 = '' OR strpos(lower(email), lower($3)) > 0 OR strpos(lower(name), lower($3)) > 0)
     ORDER BY email LIMIT $1`,
  ),

  /** One account, with the credentials that are valid at $2. */
  one: statement(
    'accounts.one',
    `SELECT ${ACCOUNT},
       (SELECT count(*)::int FROM auth_sessions WHERE user_id = u.id AND expires_at > $2) AS sessions,
       (SELECT count(*)::int FROM access_tokens
        WHERE user_id = u.id AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)) AS tokens,
       (SELECT count(*)::int FROM devices WHERE user_id = u.id) AS devices,
       EXISTS (SELECT 1 FROM auth_accounts WHERE user_id = u.id AND provider_id LIKE 'oidc:%') AS "isLinked"
     FROM users u WHERE u.id = $1`,
  ),

  /** The workspaces and document bytes of the accounts $1. An account without workspaces has no row. */
  held: statement(
    'accounts.held',
    `SELECT user_id AS "userId", count(*)::int AS workspaces, sum(document_bytes)::bigint AS "documentBytes"
     FROM {workspaces} WHERE user_id = ANY ($1::uuid[]) AND deleted_at IS NULL GROUP BY user_id`,
  ),
};
