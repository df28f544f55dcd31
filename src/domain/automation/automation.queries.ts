import { ofWorkspace, statement } from '../../platform/database/index.js';

const MINUTE_MS = 60_000;
/** A session that has been idle for this long has ended. */
export const IDLE_MS = 15 * MINUTE_MS;
const LONGEST_MS = 8 * 60 * MINUTE_MS;

/** The time at which a session used now ends unless it is used again. */
export function endOf(lastUse: Date): Date {
  return new Date(lastUse.getTime() + IDLE_MS);
}

/** The first three parameters of every statement that selects live sessions: last used after, opened after, now. */
export function liveAt(now: Date): [Date, Date, Date] {
  return [new Date(now.getTime() - IDLE_MS), new Date(now.getTime() - LONGEST_MS), now];
}

/**
 * Live sessions: used recently ($1), not too old ($2), and opened with a token that is still valid ($3 is now) or with a JWT whose
 * session has not ended.
 */
const LIVE = `s.last_used_at > $1 AND s.created_at > $2 AND (
  EXISTS (SELECT 1 FROM auth_sessions a WHERE a.id = s.session_id AND a.expires_at > $3)
  OR EXISTS (
    SELECT 1 FROM access_tokens t
    WHERE t.id = s.access_token_id AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > $3)
  )
)`;

export const keySessionStatements = {
  find: statement(
    'key_sessions.find',
    `SELECT s.id, s.access_token_id AS "accessTokenId", s.wrapped_key AS "wrappedKey", s.last_used_at AS "lastUsedAt"
     FROM key_sessions s
     WHERE s.token_hash = $4 AND s.user_id = $5 AND s.workspace_id = $6 AND ${LIVE}`,
  ),

  liveAmong: statement(
    'key_sessions.live_among',
    `SELECT s.id FROM key_sessions s WHERE s.id = ANY ($4) AND ${LIVE}`,
  ),

  forgetEnded: statement('key_sessions.forget_ended', `DELETE FROM key_sessions s WHERE NOT (${LIVE})`),
};

export const noteStatements = {
  /**
   * The live heads of these paths, with the location of their bytes; inline bytes are included up to size $3. Looked
   * up path by path, so the plan does not depend on the planner's estimate of the workspace's size.
   */
  heads: ofWorkspace(
    'automation.heads',
    `SELECT f.encrypted_path AS "encryptedPath", f.version, f.content_hash AS "contentHash", f.updated_at AS "updatedAt",
            f.encrypted_size AS size, b.workspace_id AS "workspaceId", b.id, b.location,
            CASE WHEN f.encrypted_size <= $3 THEN b.bytes END AS bytes
     FROM unnest($2::text[]) AS asked (path)
     CROSS JOIN LATERAL (
       SELECT * FROM {files} WHERE workspace_id = $1 AND path_hash = sha256(asked.path::bytea) AND NOT is_deleted
     ) f
     JOIN {blobs} b ON b.workspace_id = $1 AND b.id = f.blob_id`,
    true,
  ),
};
