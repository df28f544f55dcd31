import { Injectable } from '@nestjs/common';
import { type Acting, AuditLog, BY_OPERATOR } from '../audit/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { NotFound } from '../platform/http/index.js';
import { pendingSignInStatements } from './factors/index.js';
import { lockUser } from './lock-user.js';
import { OPERATOR, PasswordHasher } from './password-hasher.js';

const resetStatements = {
  remove: statement(
    'password_reset.remove',
    `DELETE FROM auth_accounts WHERE user_id = $1 AND provider_id = 'credential'`,
  ),

  add: statement(
    'password_reset.add',
    `INSERT INTO auth_accounts (user_id, account_id, provider_id, password, created_at, updated_at)
     VALUES ($1::uuid, $1::uuid::text, 'credential', $2, $3, $3)`,
  ),

  /** The value of a one-time token is the token of the session that it opens. */
  end: statement(
    'password_reset.end',
    `WITH ended AS (DELETE FROM auth_sessions WHERE user_id = $1 RETURNING token, expires_at),
          forgotten AS (DELETE FROM auth_verifications
                        WHERE identifier LIKE 'one-time-token:%' AND value IN (SELECT token FROM ended))
     SELECT count(*)::integer AS sessions FROM ended WHERE expires_at > $2`,
  ),

  live: statement(
    'password_reset.live',
    'SELECT count(*)::integer AS sessions FROM auth_sessions WHERE user_id = $1 AND expires_at > $2',
  ),
};

/** A new password for a user who cannot sign in with the current one. */
@Injectable()
export class PasswordReset {
  constructor(
    private readonly hasher: PasswordHasher,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Sets the password, also for a user without one, and ends every session with its one-time tokens, atomically. JWTs stay valid
   * until they expire, and personal access tokens are not affected. Returns how many sessions were live. @throws NotFound
   */
  async run(userId: string, password: string, by: Acting = BY_OPERATOR): Promise<number> {
    const hash = await this.hasher.hash(password, OPERATOR);
    const now = this.clock.now();
    return this.database.transaction(async (tx) => {
      // Without the lock, two concurrent resets would each add a password; it also keeps sessions of this user from beginning.
      if (!(await lockUser(tx, userId))) throw new NotFound('user not found');
      // A new row: a concurrent change of the old password finds its row gone, and changes nothing.
      await tx.run(resetStatements.remove, [userId]);
      await tx.run(resetStatements.add, [userId, hash, now]);
      await this.audit.record({ action: 'password.reset', userId, ...by }, tx);
      const [ended] = await tx.run<{ sessions: number }>(resetStatements.end, [userId, now]);
      await tx.run(pendingSignInStatements.end, [userId]);
      return ended?.sessions ?? 0;
    });
  }

  /** How many sessions `run` would end. */
  async preview(userId: string): Promise<number> {
    const values = [userId, this.clock.now()];
    const [live] = await this.database.run<{ sessions: number }>(resetStatements.live, values);
    return live?.sessions ?? 0;
  }
}
