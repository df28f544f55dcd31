import { ofWorkspace, statement } from '../platform/database/index.js';

/**
 * @param id the id of a workspace, of which the engine must see that it is given
 * @param most the parameter above which counts end
 * @param which a condition for the workspaces, and their order
 */
const workspacesWhere = (id: string, most: string, which: string): string =>
  `SELECT w.id, w.name, w.live_files AS files, w.document_bytes AS "documentBytes", w.created_at AS "createdAt",
            (SELECT changed_at FROM changes WHERE workspace_id = ${id} ORDER BY cursor DESC LIMIT 1) AS "changedAt",
            (SELECT count(*)::int FROM (SELECT 1 FROM versions WHERE workspace_id = ${id} LIMIT ${most}::int + 1) v) AS versions,
            a.assets, a."assetBytes"
     FROM workspaces w CROSS JOIN LATERAL (
       SELECT count(*)::int AS assets, coalesce(sum(size), 0)::bigint AS "assetBytes"
       FROM (SELECT size FROM assets WHERE workspace_id = ${id} LIMIT ${most}::int + 1) a
     ) a WHERE w.deleted_at IS NULL AND ${which}`;

export const accountStatements = {
  email: statement('account.email', 'SELECT email FROM users WHERE id = $1'),

  /**
   * The newest $2 workspaces with what is in them. Counts of versions and attachments end above $3, or a page would cost as much
   * as the account is large.
   */
  workspaces: statement(
    'account.workspaces',
    workspacesWhere('w.id', '$3', 'w.user_id = $1 ORDER BY w.id DESC LIMIT $2'),
  ),

  /** One of them, from its node. */
  workspaceOnNode: ofWorkspace('account.workspace_on_node', workspacesWhere('$1', '$2', 'w.id = $1')),

  /** Excludes revoked tokens: their sockets are already closed. */
  tokenIds: statement(
    'account.token_ids',
    'SELECT id FROM access_tokens WHERE user_id = $1 AND revoked_at IS NULL',
  ),

  /** Stores the ids under which the payment provider knows the user, if it does. */
  oweCancellation: statement(
    'account.owe_cancellation',
    `INSERT INTO owed_cancellations (customer_id, subscription_id, since)
     SELECT customer_id, provider_subscription_id, $2
     FROM users u LEFT JOIN payment_customers c ON c.user_id = u.id LEFT JOIN subscriptions s ON s.user_id = u.id
     WHERE u.id = $1 AND (customer_id IS NOT NULL OR provider_subscription_id IS NOT NULL)`,
  ),

  forgetInvitation: statement(
    'account.forget_invitation',
    'DELETE FROM invitations WHERE email = (SELECT lower(email) FROM users WHERE id = $1)',
  ),

  /** Also deletes sessions, passwords, tokens, devices, subscription and quota, by their foreign keys. */
  deleteUser: statement('account.delete_user', 'DELETE FROM users WHERE id = $1'),

  /** Up to $2 rows above $1, oldest first. */
  owed: statement(
    'account.owed',
    `SELECT id, customer_id AS "customerId", subscription_id AS "subscriptionId"
     FROM owed_cancellations WHERE id > $1 ORDER BY id LIMIT $2`,
  ),

  settle: statement('account.settle', 'DELETE FROM owed_cancellations WHERE id = $1'),
};
