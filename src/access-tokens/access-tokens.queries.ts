import { statement } from '../platform/database/index.js';

const COLUMNS = `id, name, scopes, workspace_id AS "workspaceId", created_at AS "createdAt", last_used_at AS "lastUsedAt",
            expires_at AS "expiresAt", revoked_at AS "revokedAt"`;

/** $2: the time. */
const IS_LIVE = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)';

export const accessTokenStatements = {
  /** Ids are UUIDv7: descending is newest first. */
  page: statement(
    'access_tokens.page',
    `SELECT ${COLUMNS} FROM access_tokens WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
  ),

  live: statement(
    'access_tokens.live',
    `SELECT ${COLUMNS} FROM access_tokens WHERE user_id = $1 AND ${IS_LIVE} ORDER BY id DESC LIMIT $3`,
  ),

  /** $3: how many live ones a user may have. */
  isFull: statement(
    'access_tokens.is_full',
    `SELECT EXISTS (
       SELECT FROM access_tokens WHERE user_id = $1 AND ${IS_LIVE} OFFSET $3::integer - 1
     ) AS "isFull"`,
  ),

  insert: statement(
    'access_tokens.insert',
    `INSERT INTO access_tokens (id, user_id, name, token_hash, scopes, workspace_id, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
  ),

  /** Deletes ended tokens beyond the $3 newest, at most $4 at a time. */
  forgetEnded: statement(
    'access_tokens.forget_ended',
    `DELETE FROM access_tokens WHERE id IN (
       SELECT id FROM access_tokens WHERE user_id = $1 AND NOT (${IS_LIVE}) ORDER BY id DESC OFFSET $3 LIMIT $4
     )`,
  ),

  /** One row when there is such a token, revoked before or not. */
  revoke: statement(
    'access_tokens.revoke',
    `WITH revoked AS (
       UPDATE access_tokens SET revoked_at = $3 WHERE id = $2 AND user_id = $1 AND revoked_at IS NULL
     )
     SELECT id FROM access_tokens WHERE id = $2 AND user_id = $1`,
  ),
};
