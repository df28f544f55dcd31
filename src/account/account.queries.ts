import { statement } from '../platform/database/index.js';

export const accountStatements = {
  email: statement('account.email', 'SELECT email FROM users WHERE id = $1'),

  /** A revoked one has closed its sockets long ago. */
  tokenIds: statement(
    'account.token_ids',
    'SELECT id FROM access_tokens WHERE user_id = $1 AND revoked_at IS NULL',
  ),

  /** Under which names the payment provider knows the user, if it does. */
  oweCancellation: statement(
    'account.owe_cancellation',
    `INSERT INTO owed_cancellations (customer_id, subscription_id, since)
     SELECT customer_id, provider_subscription_id, $2
     FROM users u LEFT JOIN payment_customers c ON c.user_id = u.id LEFT JOIN subscriptions s ON s.user_id = u.id
     WHERE u.id = $1 AND (customer_id IS NOT NULL OR provider_subscription_id IS NOT NULL)`,
  ),

  /** With it go sessions, passwords, tokens, devices, subscription and quota: their tables say so. */
  deleteUser: statement('account.delete_user', 'DELETE FROM users WHERE id = $1'),

  /** Up to $2 above $1, oldest first. */
  owed: statement(
    'account.owed',
    `SELECT id, customer_id AS "customerId", subscription_id AS "subscriptionId"
     FROM owed_cancellations WHERE id > $1 ORDER BY id LIMIT $2`,
  ),

  settle: statement('account.settle', 'DELETE FROM owed_cancellations WHERE id = $1'),
};
