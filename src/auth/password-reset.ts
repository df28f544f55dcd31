import { Injectable } from '@nestjs/common';
import { type Acting, AuditLog, BY_OPERATOR } from '../audit/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, statement, type Tx } from '../platform/database/index.js';
import { NotFound } from '../platform/http/index.js';
import { pendingSignInStatements } from './factors/index.js';
import { lockUser } from './lock-user.js';
import { revokeLinks } from './mail-links.js';
import { revokeAllTokens } from './password-change.js';
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

interface ResetByUser {
  readonly revokesAccessTokens: boolean;
  readonly ip: string;
  readonly userAgent: string;
}

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
    const hash = await this.hash(password, OPERATOR);
    return this.database.transaction(async (tx) => {
      // Without the lock, two concurrent resets would each add a password; it also keeps sessions of this user from beginning.
      if (!(await lockUser(tx, userId))) throw new NotFound('user not found');
      await this.audit.record({ action: 'password.reset', userId, ...by }, tx);
      return this.put(tx, userId, hash);
    });
  }

  /** Hashes a new password, before the transaction that sets it. @throws HashingBusy */
  hash(password: string, ip: string): Promise<string> {
    return this.hasher.hash(password, ip);
  }

  /**
   * Sets the password as `run` does, on behalf of the user. The user must be locked. Returns the ids of the access tokens that were
   * revoked, if that was wished.
   */
  async replace(tx: Tx, userId: string, hash: string, by: ResetByUser): Promise<string[]> {
    const { revokesAccessTokens, ip, userAgent } = by;
    await this.put(tx, userId, hash);
    await this.audit.record({ action: 'password.reset', userId, actor: 'user', ip, userAgent }, tx);
    if (!revokesAccessTokens) return [];
    const tokens = await tx.run<{ id: string }>(revokeAllTokens, [userId, this.clock.now()]);
    return tokens.map(({ id }) => id);
  }

  /** Returns how many sessions were live. */
  private async put(tx: Tx, userId: string, hash: string): Promise<number> {
    const now = this.clock.now();
    // A new row: a concurrent change of the old password finds its row gone, and changes nothing.
    await tx.run(resetStatements.remove, [userId]);
    await tx.run(resetStatements.add, [userId, hash, now]);
    await revokeLinks(tx, userId, now, 'verify-email');
    await tx.run(pendingSignInStatements.end, [userId]);
    const [ended] = await tx.run<{ sessions: number }>(resetStatements.end, [userId, now]);
    return ended?.sessions ?? 0;
  }

  /** How many sessions `run` would end. */
  async preview(userId: string): Promise<number> {
    const values = [userId, this.clock.now()];
    const [live] = await this.database.run<{ sessions: number }>(resetStatements.live, values);
    return live?.sessions ?? 0;
  }
}
