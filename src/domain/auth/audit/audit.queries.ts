import { statement } from '../../../platform/database/index.js';

export const auditStatements = {
  /**
   * Deletes the user's own events beyond the newest, so that $9 older ones stay, at most $10: only those that programs repeat ($11),
   * or only the others, like the new one, so that an access token does not erase what sessions have done. Events of operators
   * stay. Does not wait for another transaction that does the same: the next event deletes what is left. Locks no other event:
   * a statement with OFFSET and FOR UPDATE would also lock what it skips.
   */
  record: statement(
    'audit.record',
    `WITH surplus AS MATERIALIZED (
       SELECT id FROM audit_events
       WHERE user_id = $2 AND actor = 'user' AND $4 = 'user' AND (action = ANY ($11)) = ($3 = ANY ($11))
       ORDER BY id DESC OFFSET $9 LIMIT $10
     ), held AS MATERIALIZED (
       SELECT id FROM audit_events WHERE id IN (SELECT id FROM surplus) FOR UPDATE SKIP LOCKED
     ), forgotten AS (
       DELETE FROM audit_events WHERE id IN (SELECT id FROM held)
     )
     INSERT INTO audit_events (at, user_id, action, actor, actor_id, ip, user_agent, details)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
  ),

  /** An invitation is older than its account: its event has the address ($1) instead of the user. */
  anonymizeInvitations: statement(
    'audit.anonymize_invitations',
    `UPDATE audit_events SET ip = NULL, user_agent = NULL, details = '{}'
     WHERE user_id IS NULL AND details ->> 'email' = $1`,
  ),
};
