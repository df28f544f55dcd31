import { statement } from '../../platform/database/index.js';

export const factorStatements = {
  state: statement(
    'factors.state',
    `SELECT cardinality(backup_codes) AS "codesLeft" FROM auth_two_factors WHERE user_id = $1 AND verified`,
  ),

  secret: statement(
    'factors.secret',
    'SELECT secret, verified AS "isOn", created_at AS "begunAt" FROM auth_two_factors WHERE user_id = $1',
  ),

  /** Replaces a set-up that was not finished; returns no row when a factor is on. */
  begin: statement(
    'factors.begin',
    `INSERT INTO auth_two_factors AS f (user_id, secret, created_at) VALUES ($1, $2, $3)
     ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret, created_at = excluded.created_at
     WHERE NOT f.verified
     RETURNING id`,
  ),

  /** The encrypted secret in the condition: a set-up that began again meanwhile is not the one that was confirmed. */
  finish: statement(
    'factors.finish',
    `WITH finished AS (
       UPDATE auth_two_factors SET verified = true, last_step = $3, backup_codes = $4
       WHERE user_id = $1 AND secret = $2 AND NOT verified RETURNING user_id
     )
     UPDATE users SET two_factor_enabled = true, updated_at = $5
     WHERE id IN (SELECT user_id FROM finished) RETURNING id`,
  ),

  /** Each step is used once, and none before it afterwards: RFC 6238 §5.2. */
  useStep: statement(
    'factors.use_step',
    `UPDATE auth_two_factors SET last_step = $3
     WHERE user_id = $1 AND secret = $2 AND verified AND last_step < $3 RETURNING id`,
  ),

  useBackupCode: statement(
    'factors.use_backup_code',
    `UPDATE auth_two_factors SET backup_codes = array_remove(backup_codes, $2)
     WHERE user_id = $1 AND verified AND $2 = ANY (backup_codes) RETURNING id`,
  ),

  renewCodes: statement(
    'factors.renew_codes',
    'UPDATE auth_two_factors SET backup_codes = $2 WHERE user_id = $1 AND verified RETURNING id',
  ),

  remove: statement(
    'factors.remove',
    `WITH removed AS (DELETE FROM auth_two_factors WHERE user_id = $1 RETURNING verified)
     UPDATE users SET two_factor_enabled = false, updated_at = $2
     WHERE id = $1 AND EXISTS (SELECT 1 FROM removed WHERE verified) RETURNING id`,
  ),

  removePasskeys: statement('factors.remove_passkeys', 'DELETE FROM auth_passkeys WHERE user_id = $1'),
};

/** The value of a pending sign-in, which waits for the second factor, is the id of its user. */
export const pendingSignInStatements = {
  end: statement(
    'pending_sign_ins.end',
    `DELETE FROM auth_verifications WHERE identifier LIKE '2fa-%' AND value = $1::uuid::text`,
  ),

  endOne: statement('pending_sign_ins.end_one', 'DELETE FROM auth_verifications WHERE identifier = $1'),

  isPassword: statement(
    'pending_sign_ins.is_password',
    `SELECT 1 FROM auth_accounts WHERE user_id = $1 AND provider_id = 'credential' AND password = ANY ($2)`,
  ),

  isLinked: statement(
    'pending_sign_ins.is_linked',
    `SELECT 1 FROM auth_accounts WHERE user_id = $1 AND provider_id LIKE 'oidc:%'`,
  ),

  passwordOf: statement(
    'pending_sign_ins.password_of',
    `SELECT password AS hash FROM auth_accounts
     WHERE user_id = $1 AND provider_id = 'credential' AND password IS NOT NULL`,
  ),
};
