import { type Database, statement } from '../platform/database/index.js';
import { lockUser } from './lock-user.js';

/** Of one user. */
export const MAX_SESSIONS = 200;

/** That wait to be used, of one session. */
const MAX_ONE_TIME_TOKENS = 100;

/** How many rows the library reads at a time: it lists and ends sessions in one go, and takes the rest for absent. */
export const LIBRARY_READS_AT_MOST = 5 * MAX_SESSIONS;

/**
 * Sessions that have run out go first, then those that were renewed longest ago (a session in use is renewed once a day).
 * The value of a one-time token is the session that it opens.
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

/** Passes by what another such statement is removing: two that wait for each other's rows would be a deadlock. */
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
 * Bounds what signing in leaves behind. The identity library commits a row on a connection of its own, so both methods run
 * after that: of several at once the last sees all of them, and no more than the bound stay, on any number of instances.
 */
export class SessionCap {
  constructor(private readonly database: Database) {}

  /**
   * Ends the sessions of the user beyond `MAX_SESSIONS`, with their one-time tokens; never the new one, unless this fails:
   * then nobody gets its token.
   */
  async begun({ id, userId }: { id: string; userId: string }): Promise<void> {
    try {
      await this.database.transaction(async (tx) => {
        // In turns: two at once could wait for the rows that the other one deletes.
        if (await lockUser(tx, userId)) await tx.run(endSurplus, [userId, id, MAX_SESSIONS]);
      });
    } catch (error) {
      await this.database.run(endOne, [id]);
      throw error;
    }
  }

  /** Forgets the oldest one-time tokens of the session beyond 100. */
  async minted({ value }: { value: string }): Promise<void> {
    await this.database.run(forgetSurplus, [value, MAX_ONE_TIME_TOKENS]);
  }
}
