import { statement } from '../platform/database/index.js';

export const accountStatements = {
  email: statement('account.email', 'SELECT email FROM users WHERE id = $1'),

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
