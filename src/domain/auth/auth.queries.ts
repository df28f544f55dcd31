import { statement } from '../../platform/database/index.js';

/** Deletes the one-time tokens of the sessions in `ended`: the value of a one-time token is the token of its session. */
const FORGET_ONE_TIME_TOKENS = `
  DELETE FROM auth_verifications WHERE identifier LIKE 'one-time-token:%' AND value IN (SELECT token FROM ended)`;

export const userStatements = {
  /** Changes nothing if another user has taken the address meanwhile. */
  changeAddress: statement(
    'users.change_address',
    `UPDATE users SET email = $2, email_verified = true, updated_at = $3
     WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM users WHERE email = $2) RETURNING id`,
  ),

  /** The existing users among the ids $1. Run by each socket that opens: a repository takes 13 MiB more for 2,000 (measured). */
  among: statement(
    'auth.users_among',
    'SELECT id, suspended_at IS NOT NULL AS "isSuspended" FROM users WHERE id = ANY ($1)',
  ),
};

export const accessTokenStatements = {
  find: statement(
    'auth.find_active_pat',
    `SELECT t.id, user_id AS "userId", scopes, workspace_id AS "workspaceId", expires_at AS "expiresAt",
            last_used_at AS "lastUsedAt", u.suspended_at IS NOT NULL AS "isSuspended"
     FROM access_tokens t JOIN users u ON u.id = t.user_id
     WHERE token_hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
  ),

  revokeAll: statement(
    'access_endings.revoke_tokens',
    'UPDATE access_tokens SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL RETURNING id',
  ),
};

export const sessionStatements = {
  /** $2 is an id or a token. */
  end: statement(
    'user_sessions.end',
    `WITH ended AS (DELETE FROM auth_sessions WHERE user_id = $1 AND (id::text = lower($2) OR token = $2) RETURNING token),
          forgotten AS (${FORGET_ONE_TIME_TOKENS})
     SELECT 1 FROM ended`,
  ),

  endAllBut: statement(
    'access_endings.end_sessions',
    `WITH ended AS (
       DELETE FROM auth_sessions WHERE user_id = $1 AND id IS DISTINCT FROM $2 RETURNING token, expires_at
     ), forgotten AS (${FORGET_ONE_TIME_TOKENS})
     SELECT count(*)::integer AS sessions FROM ended WHERE expires_at > $3`,
  ),

  /**
   * Keeps the session $2 and $3 - 1 others. Deletes expired sessions first, then those renewed longest ago (a session in use is
   * renewed once a day).
   */
  endSurplus: statement(
    'session_cap.end_surplus',
    `WITH ended AS (
       DELETE FROM auth_sessions WHERE user_id = $1 AND id IN (
         SELECT id FROM auth_sessions WHERE user_id = $1 AND id <> $2
         ORDER BY expires_at > statement_timestamp() DESC, updated_at DESC, created_at DESC, id DESC
         OFFSET $3::integer - 1
       )
       RETURNING token
     )
     ${FORGET_ONE_TIME_TOKENS}`,
  ),

  /** Skips rows that a concurrent statement of this kind deletes: waiting for each other's rows would deadlock. */
  forgetSurplusTokens: statement(
    'session_cap.forget_surplus',
    `WITH surplus AS MATERIALIZED (
       SELECT id FROM auth_verifications WHERE value = $1 AND identifier LIKE 'one-time-token:%'
       ORDER BY created_at DESC, id DESC OFFSET $2
     ), held AS MATERIALIZED (
       SELECT id FROM auth_verifications WHERE id IN (SELECT id FROM surplus) FOR UPDATE SKIP LOCKED
     )
     DELETE FROM auth_verifications WHERE id IN (SELECT id FROM held)`,
  ),

  /** Returns a row if a hash of the password that the session began with ($2) is still that of its user. */
  proven: statement(
    'sign_in_passwords.proven',
    `SELECT u.two_factor_enabled AS "needsFactor" FROM auth_sessions s JOIN users u ON u.id = s.user_id
     JOIN auth_accounts a ON a.user_id = s.user_id AND a.provider_id = 'credential' AND a.password = ANY ($2)
     WHERE s.id = $1`,
  ),

  /**
   * Reads the last 30 seconds again: after a crash, the server may reuse ids of transactions that had written nothing to disk.
   * Returns the ids as one text: the driver takes ten times as long to parse an array.
   */
  endedSince: statement(
    'auth.ended_sessions',
    `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS next,
            (SELECT string_agg(session_id::text, ',') FROM ended_sessions
             WHERE (transaction >= $1::text::xid8 OR ended_at > now() - interval '30 seconds')
               AND ended_at > now() - interval '1 hour') AS ids`,
  ),
};

export const factorStatements = {
  /** Replaces an unfinished set-up; returns no row if the factor is on. */
  begin: statement(
    'factors.begin',
    `INSERT INTO auth_two_factors AS f (user_id, secret, created_at) VALUES ($1, $2, $3)
     ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret, created_at = excluded.created_at
     WHERE NOT f.verified
     RETURNING id`,
  ),

  useBackupCode: statement(
    'factors.use_backup_code',
    `UPDATE auth_two_factors SET backup_codes = array_remove(backup_codes, $2)
     WHERE user_id = $1 AND verified AND $2 = ANY (backup_codes) RETURNING id`,
  ),

  /** Returns a row if the factor was on. */
  remove: statement(
    'factors.remove',
    `WITH removed AS (DELETE FROM auth_two_factors WHERE user_id = $1 RETURNING verified)
     UPDATE users SET two_factor_enabled = false, updated_at = $2
     WHERE id = $1 AND EXISTS (SELECT 1 FROM removed WHERE verified) RETURNING id`,
  ),
};

export const linkedAccountStatements = {
  /** Returns no row if a concurrent request has linked the subject. */
  link: statement(
    'linked_accounts.link',
    `INSERT INTO auth_accounts (user_id, account_id, provider_id, created_at, updated_at) VALUES ($1, $2, $3, $4, $4)
     ON CONFLICT (provider_id, account_id) WHERE provider_id <> 'credential' DO NOTHING RETURNING id`,
  ),
};

export const mailLinkStatements = {
  /**
   * Stores a link, or extends it when its mail ($7) is sent again. Returns no row if the link has been used, if a link requested
   * later has replaced it, or if its mail was deleted: the row lock makes this and `revokeLinks` wait for each other.
   */
  issue: statement(
    'mail_links.issue',
    `INSERT INTO mail_links AS l (user_id, purpose, token_hash, email, requested_at, expires_at)
     SELECT $1::uuid, $2, $3::bytea, $4, $5::timestamptz, $6::timestamptz FROM mail_queue WHERE id = $7 FOR KEY SHARE
     ON CONFLICT (user_id, purpose) DO UPDATE
     SET token_hash = excluded.token_hash, email = excluded.email, requested_at = excluded.requested_at,
         expires_at = excluded.expires_at, used_at = NULL
     WHERE l.requested_at < excluded.requested_at OR (l.token_hash = excluded.token_hash AND l.used_at IS NULL)
     RETURNING l.user_id`,
  ),

  find: statement(
    'mail_links.find',
    `SELECT l.user_id AS "userId", l.email FROM mail_links l JOIN users u ON u.id = l.user_id AND u.suspended_at IS NULL
     WHERE l.token_hash = $1 AND l.purpose = $2 AND l.used_at IS NULL AND l.expires_at > $3`,
  ),

  use: statement(
    'mail_links.use',
    `UPDATE mail_links SET used_at = $3
     WHERE token_hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3
     RETURNING user_id AS "userId", email`,
  ),
};

export const knownNetworkStatements = {
  /**
   * Whether the user has signed in before, and whether from this network. An account older than $3, since when networks are kept,
   * counts as signed in before, even without a known network.
   */
  known: statement(
    'known_networks.known',
    `SELECT u.created_at <= $3 OR count(k.network) > 0 AS "isLater", coalesce(bool_or(k.network = $2), false) AS "isKnown"
     FROM users u LEFT JOIN known_networks k ON k.user_id = u.id AND k.last_seen_at > $3
     WHERE u.id = $1 GROUP BY u.id`,
  ),

  /** Records this network, and deletes all others but the $4 - 1 newest. */
  note: statement(
    'known_networks.note',
    `WITH noted AS (
       INSERT INTO known_networks AS k (user_id, network, last_seen_at) VALUES ($1, $2, $3)
       ON CONFLICT (user_id, network) DO UPDATE SET last_seen_at = greatest(k.last_seen_at, excluded.last_seen_at)
     )
     DELETE FROM known_networks WHERE user_id = $1 AND network <> $2 AND network NOT IN (
       SELECT network FROM known_networks WHERE user_id = $1 AND network <> $2
       ORDER BY last_seen_at DESC, network LIMIT $4 - 1
     )`,
  ),
};

export const wrongPasswordStatements = {
  /**
   * Counts an attempt; returns no row if the limit is reached within the period. Keeps one attempt beyond the limit, because one
   * may be undone. $4: count it in any case; $5: the limit.
   */
  add: statement(
    'wrong_passwords.add',
    `INSERT INTO wrong_passwords AS w (key, tried_at, last_at) VALUES ($1, ARRAY[$2::timestamptz], $2)
     ON CONFLICT (key) DO UPDATE
     SET tried_at = array_prepend($2, w.tried_at[:$5]), last_at = greatest(w.last_at, excluded.last_at)
     WHERE (SELECT count(*) < $5 FROM unnest(w.tried_at) AS at WHERE at > $3) OR $4::boolean
     RETURNING true AS "isCounted"`,
  ),

  /** Returns a row if the account $1 was signed in to from the network $2 since $3. */
  isKnown: statement(
    'wrong_passwords.is_known',
    `SELECT 1 FROM users u JOIN known_networks k ON k.user_id = u.id
     WHERE u.email = $1 AND k.network = $2 AND k.last_seen_at > $3`,
  ),

  /** Removes one of the attempts counted at the time $2. */
  takeBack: statement(
    'wrong_passwords.take_back',
    `UPDATE wrong_passwords SET tried_at =
       tried_at[:array_position(tried_at, $2) - 1] || tried_at[array_position(tried_at, $2) + 1:]
     WHERE key = $1 AND $2 = ANY (tried_at)`,
  ),

  oldest: statement(
    'wrong_passwords.oldest',
    `SELECT min(at) AS at FROM wrong_passwords, unnest(tried_at) AS at WHERE key = $1 AND at > $2`,
  ),
};
