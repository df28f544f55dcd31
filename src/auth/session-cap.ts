import { type Database, statement } from '../platform/database/index.js';
import { lockUser } from './lock-user.js';

/** Sessions per user. */
export const MAX_SESSIONS = 200;

/** Unused one-time tokens per session. */
const MAX_ONE_TIME_TOKENS = 100;

/** How many rows the library reads at a time: it lists and ends sessions in one query, and ignores any rows beyond the limit. */
export const LIBRARY_READS_AT_MOST = 5 * MAX_SESSIONS;

/**
 * Expired sessions are deleted first, then those renewed longest ago (a session in use is renewed once a day). The value of a
 * one-time token is the token of the session that it opens.
 */
const endSurplus = statement(
  'session_cap.end_surplus',
  `WITH ended AS (
     DELETE FROM auth_sessions WHERE user_id = $1 AND id IN (
       SELECT id FROM auth_sessions WHERE user_id = $1 AND id <> $2
       ORDER BY expires_at > statement_timestamp() DESC, updated_at DESC, created_at DESC, id DESC
       OFFSET $3::integer - 1
     )
     RETURNING token
   )
   DELETE FROM auth_verifications WHERE identifier LIKE 'one-time-token:%' AND value IN (SELECT token FROM ended)`,
);

/** Skips rows that another such statement is deleting: two that wait for each other's rows would deadlock. */
const endOne = statement('session_cap.end_one', 'DELETE FROM auth_sessions WHERE id = $1');

const forgetSurplus = statement(
  'session_cap.forget_surplus',
  `WITH surplus AS MATERIALIZED (
     SELECT id FROM auth_verifications WHERE value = $1 AND identifier LIKE 'one-time-token:%'
     ORDER BY created_at DESC, id DESC OFFSET $2
   ), held AS MATERIALIZED (
     SELECT id FROM auth_verifications WHERE id IN (SELECT id FROM surplus) FOR UPDATE SKIP LOCKED
   )
   DELETE FROM auth_verifications WHERE id IN (SELECT id FROM held)`,
);

/**
 * Limits the sessions and one-time tokens that signing in leaves behind. The identity library commits each row on its own
 * connection, and both methods run after that commit: of several concurrent calls the last sees all rows, so the limits hold on
 * any number of instances.
 */
export class SessionCap {
  constructor(private readonly database: Database) {}

  /**
   * Ends the user's sessions beyond `MAX_SESSIONS`, with their one-time tokens. The new session is kept, unless this fails: then
   * it is ended, and nobody gets its token.
   */
  async begun({ id, userId }: { id: string; userId: string }): Promise<void> {
    try {
      await this.database.transaction(async (tx) => {
        // Serialized: two concurrent deletions could wait for each other's rows.
        if (await lockUser(tx, userId)) await tx.run(endSurplus, [userId, id, MAX_SESSIONS]);
      });
    } catch (error) {
      await this.database.run(endOne, [id]);
      throw error;
    }
  }

  /** Deletes the oldest one-time tokens of the session beyond 100. */
  async minted({ value }: { value: string }): Promise<void> {
    await this.database.run(forgetSurplus, [value, MAX_ONE_TIME_TOKENS]);
  }
}
