import { statement } from '../database/index.js';

export const mailStatements = {
  /**
   * Adds the line $5 to a gathering mail that is not due at $4. Beyond $6 lines, it is only counted. A mail that has been claimed is
   * not changed: it may be on its way.
   */
  append: statement(
    'mail_queue.append',
    `UPDATE mail_queue SET parameters = parameters || jsonb_build_object(
       'count', ((parameters ->> 'count')::integer + 1)::text,
       'events', CASE WHEN (parameters ->> 'count')::integer < $6 THEN concat(parameters ->> 'events', E'\\n', $5::text)
                      ELSE parameters ->> 'events' END
     )
     WHERE id = (
       SELECT id FROM mail_queue
       WHERE user_id = $1 AND template = $2 AND recipient = $3 AND attempts = 0 AND due_at > $4
         AND parameters ->> 'count' IS NOT NULL
       ORDER BY due_at LIMIT 1 FOR UPDATE
     )
     RETURNING id`,
  ),

  /**
   * Claims up to $2 mails that are due at $1: until the lease ends at $3, no instance claims them again. A mail that is due after
   * $4, later than any wait, was written under a clock that was wrong.
   */
  claim: statement(
    'mail_queue.claim',
    `WITH due AS (
       SELECT id FROM mail_queue WHERE due_at <= $1 OR due_at > $4
       ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
     )
     UPDATE mail_queue m SET due_at = $3, attempts = m.attempts + 1 FROM due WHERE m.id = due.id
     RETURNING m.id, m.user_id AS "userId", m.recipient AS "to", m.template, m.parameters, m.attempts,
               m.queued_at AS "queuedAt", m.due_at AS "leaseEnds"`,
  ),
};
