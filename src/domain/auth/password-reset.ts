import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { MoreThan, Repository } from 'typeorm';
import { type Acting, AuditLog, BY_OPERATOR } from './audit/index.js';
import { Clock } from '../../platform/clock/index.js';
import { Database, type Tx } from '../../platform/database/index.js';
import { NotFound } from '../../platform/http/index.js';
import { AccessEndings, type Ended, type Ending } from './access-endings.js';
import { AuthAccount, credentialOf } from './auth-account.entity.js';
import { AuthSession } from './auth-session.entity.js';
import { lockUser } from './lock-user.js';
import { OPERATOR, PasswordHasher } from './password-hasher.js';

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
    @InjectRepository(AuthSession) private readonly sessions: Repository<AuthSession>,
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
    const accounts = tx.manager.getRepository(AuthAccount);
    const now = this.clock.now();
    await accounts.delete(credentialOf(userId));
    const stamps = { createdAt: now, updatedAt: now };
    await accounts.insert({ ...credentialOf(userId), accountId: userId, password: hash, ...stamps });
  }

  /** How many sessions `run` would end. */
  preview(userId: string): Promise<number> {
    return this.sessions.countBy({ userId, expiresAt: MoreThan(this.clock.now()) });
  }
}
