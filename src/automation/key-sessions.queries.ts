import { statement } from '../platform/database/index.js';

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
  insert: statement(
    'key_sessions.insert',
    `INSERT INTO key_sessions (id, token_hash, user_id, workspace_id, access_token_id, session_id, wrapped_key, created_at, last_used_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)`,
  ),

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

  /** Concurrent requests see the same old time; the condition lets only one of them write. */
  noteUse: statement(
    'key_sessions.note_use',
    'UPDATE key_sessions SET last_used_at = $2 WHERE id = $1 AND last_used_at <= $3',
  ),

  /** Ends a user's sessions beyond $3, least recently used first; never $2. */
  endSurplus: statement(
    'key_sessions.end_surplus',
    `DELETE FROM key_sessions WHERE id IN (
       SELECT id FROM key_sessions WHERE user_id = $1 AND id <> $2
       ORDER BY last_used_at DESC, id DESC OFFSET $3::integer - 1
     ) RETURNING id`,
  ),

  end: statement('key_sessions.end', 'DELETE FROM key_sessions WHERE id = $1'),

  forgetEnded: statement('key_sessions.forget_ended', `DELETE FROM key_sessions s WHERE NOT (${LIVE})`),
};
