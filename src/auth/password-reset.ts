import { Injectable } from '@nestjs/common';
import { type Acting, AuditLog, BY_OPERATOR } from '../audit/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, statement, type Tx } from '../platform/database/index.js';
import { NotFound } from '../platform/http/index.js';
import { AccessEndings, type Ended, type Ending, removePassword } from './access-endings.js';
import { lockUser } from './lock-user.js';
import { OPERATOR, PasswordHasher } from './password-hasher.js';

const resetStatements = {
  add: statement(
    'password_reset.add',
    `INSERT INTO auth_accounts (user_id, account_id, provider_id, password, created_at, updated_at)
     VALUES ($1::uuid, $1::uuid::text, 'credential', $2, $3, $3)`,
  ),

  live: statement(
    'password_reset.live',
    'SELECT count(*)::integer AS sessions FROM auth_sessions WHERE user_id = $1 AND expires_at > $2',
  ),
};

interface ResetByUser {
  readonly ending: Ending;
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
    private readonly endings: AccessEndings,
  ) {}

  /**
   * Sets the password, also for a user without one, and ends what `ENDINGS` says, atomically: every session, no access token.
   * Returns how many sessions were live. @throws NotFound
   */
  async run(userId: string, password: string, by: Acting = BY_OPERATOR): Promise<number> {
    const hash = await this.hash(password, OPERATOR);
    return this.database.transaction(async (tx) => {
      // Without the lock, two concurrent resets would each add a password; it also keeps sessions of this user from beginning.
      if (!(await lockUser(tx, userId))) throw new NotFound('user not found');
      await this.audit.record({ action: 'password.reset', userId, ...by }, tx);
      await this.put(tx, userId, hash);
      return (await this.endings.end(tx, userId, 'password-reset-by-operator')).sessions;
    });
  }

  /** Hashes a new password, before the transaction that sets it. @throws HashingBusy */
  hash(password: string, ip: string): Promise<string> {
    return this.hasher.hash(password, ip);
  }

  /**
   * Sets the password on behalf of the user, by a link. The user must be locked. Announce what it returns after the commit.
   * @param ending why it is set, and so what ends
   */
  async replace(
    tx: Tx,
    userId: string,
    hash: string,
    { ending, revokesAccessTokens, ip, userAgent }: ResetByUser,
  ): Promise<Ended> {
    const ended = await this.endings.end(tx, userId, ending, { revokesAccessTokens });
    await this.put(tx, userId, hash);
    await this.audit.record({ action: 'password.reset', userId, actor: 'user', ip, userAgent }, tx);
    return ended;
  }

  private async put(tx: Tx, userId: string, hash: string): Promise<void> {
    // A new row: a concurrent change of the old password finds its row gone, and changes nothing.
    await tx.run(removePassword, [userId]);
    await tx.run(resetStatements.add, [userId, hash, this.clock.now()]);
  }

  /** How many sessions `run` would end. */
  async preview(userId: string): Promise<number> {
    const values = [userId, this.clock.now()];
    const [live] = await this.database.run<{ sessions: number }>(resetStatements.live, values);
    return live?.sessions ?? 0;
  }
}
