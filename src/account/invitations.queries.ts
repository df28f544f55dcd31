import { statement } from '../platform/database/index.js';

export const invitationStatements = {
  hasAccount: statement('invitations.has_account', 'SELECT 1 FROM users WHERE email = $1'),

  invite: statement(
    'invitations.invite',
    `INSERT INTO invitations (email, token_hash, created_at, expires_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (email) DO UPDATE
     SET token_hash = excluded.token_hash, created_at = excluded.created_at, expires_at = excluded.expires_at`,
  ),

  open: statement(
    'invitations.open',
    `SELECT email, created_at AS "createdAt", expires_at AS "expiresAt" FROM invitations
     WHERE expires_at > $1 ORDER BY expires_at DESC, email LIMIT $2`,
  ),

  revoke: statement(
    'invitations.revoke',
    'DELETE FROM invitations WHERE email = $1 AND expires_at > $2 RETURNING email',
  ),

  find: statement(
    'invitations.find',
    'SELECT email, expires_at AS "expiresAt" FROM invitations WHERE token_hash = $1 AND expires_at > $2',
  ),

  use: statement(
    'invitations.use',
    'DELETE FROM invitations WHERE token_hash = $1 AND expires_at > $2 RETURNING email',
  ),

  createUser: statement(
    'invitations.create_user',
    `INSERT INTO users (email, name, email_verified, created_at, updated_at) VALUES ($1, $2, true, $3, $3)
     ON CONFLICT (email) DO NOTHING RETURNING id`,
  ),

  addPassword: statement(
    'invitations.add_password',
    `INSERT INTO auth_accounts (user_id, account_id, provider_id, password, created_at, updated_at)
     VALUES ($1::uuid, $1::uuid::text, 'credential', $2, $3, $3)`,
  ),
};
