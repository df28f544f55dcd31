import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, MoreThan, Repository } from 'typeorm';
import { Clock } from '../../platform/clock.js';
import { Database, type Tx } from '../../platform/database/index.js';
import { NotFound, Unauthorized } from '../../platform/http/index.js';
import { Mail, type Prepared, type QueuedMail } from '../../platform/mail/index.js';
import { AccessEndings, type Ended, type Ending } from './access-endings.js';
import { addPassword, lockOwnUser, lockUser } from './account-fields.js';
import { type Acting, type AuditDetails, AuditLog, BY_OPERATOR } from './audit/index.js';
import { AuthAccount, AuthSession, credentialOf, UserEntity } from './auth.entities.js';
import {
  CurrentPassword,
  type CurrentPasswordFault,
  faultOfPassword,
  type PasswordFault,
} from './current-password.js';
import type { Client } from './identity-request.js';
import { MailLimit, MailLinks } from './mail-links.js';
import { OPERATOR, PasswordHasher } from './password-hasher.js';

interface ResetByUser extends Client {
  readonly ending: Ending;
  readonly revokesAccessTokens: boolean;
}

/** Sets a new password for a user who cannot sign in with the current one. */
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
   * Returns the number of live sessions that ended. @throws NotFound
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
   * Sets the password on behalf of the user, by a link. Lock the user first, and announce the result after the commit.
   * @param ending the reason, which decides what ends
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
    await accounts.delete(credentialOf(userId));
    await addPassword(accounts, userId, hash, this.clock.now());
  }

  /** How many sessions `run` would end. */
  preview(userId: string): Promise<number> {
    return this.sessions.countBy({ userId, expiresAt: MoreThan(this.clock.now()) });
  }
}

const LINK = { path: '/account/reset', lifeMs: 30 * 60_000 };

/** A request to set a new password by a link. */
export interface Recovery extends Client {
  /** The purpose of the link: one that confirms the address of a new account works too. */
  readonly purpose: 'reset-password' | 'verify-email';
  readonly token: string;
  readonly newPassword: string;
  readonly revokesAccessTokens: boolean;
}

export type RecoveryFault = PasswordFault | 'INVALID_TOKEN';

/** Sets a new password for a user who has forgotten the current one, by a link in a mail. */
@Injectable()
export class PasswordRecovery {
  constructor(
    @InjectRepository(UserEntity) private readonly users: Repository<UserEntity>,
    private readonly database: Database,
    private readonly mail: Mail,
    private readonly limit: MailLimit,
    private readonly links: MailLinks,
    private readonly reset: PasswordReset,
    private readonly endings: AccessEndings,
  ) {
    mail.prepare('reset-password', (queued) => this.prepare(queued));
  }

  /**
   * Queues a link for an address. Whether the address has an account is checked only when the mail is sent, so neither the answer
   * nor its time discloses it.
   * @throws TooManyRequests
   */
  async request(email: string, ip: string): Promise<void> {
    await this.limit.count('request-password-reset', email, ip);
    await this.mail.queue({ template: 'reset-password', to: email });
  }

  /** The address of the account that a link belongs to; undefined when the link does not work. Does not use it. */
  async addressOf(token: string): Promise<string | undefined> {
    return (await this.links.find('reset-password', token))?.email;
  }

  /**
   * Sets the password, ends all sessions of the user and uses up the link, atomically. A refused password does not use it up. If
   * the address was not confirmed yet, a stranger may have created the account: all its credentials end too. Otherwise a second
   * factor stays, so that a mailbox alone never replaces it. Returns the fault, if any.
   * @throws HashingBusy
   */
  async complete(recovery: Recovery): Promise<RecoveryFault | undefined> {
    const { purpose, token, newPassword, ip } = recovery;
    const fault = await faultOfPassword(newPassword);
    if (fault) return fault;
    const target = await this.links.find(purpose, token);
    if (!target) return 'INVALID_TOKEN';
    const hash = await this.reset.hash(newPassword, ip);
    const ended = await this.database.transaction((tx) => this.replace(tx, target.userId, hash, recovery));
    if (ended) this.endings.announce(ended);
    return ended ? undefined : 'INVALID_TOKEN';
  }

  /** Returns undefined, and leaves the account unchanged, when another request has used the link or confirmed the address. */
  private async replace(
    tx: Tx,
    userId: string,
    hash: string,
    { purpose, token, revokesAccessTokens, ip, userAgent }: Recovery,
  ): Promise<Ended | undefined> {
    if (!(await lockUser(tx, userId))) return undefined;
    const used = await this.links.use(tx, purpose, token);
    if (!used) return undefined;
    // Using the link proves access to the mailbox; only the first proof changes the row.
    const unverified = { id: userId, email: used.email, emailVerified: false };
    const { affected } = await tx.manager
      .getRepository(UserEntity)
      .update(unverified, { emailVerified: true });
    const isFirstProof = affected === 1;
    // A link that confirms an address is valid for longer than a reset link: once the address is confirmed, it must not act as
    // one.
    if (purpose === 'verify-email' && !isFirstProof) return undefined;
    const ending = isFirstProof ? 'first-proof' : 'password-reset';
    return this.reset.replace(tx, userId, hash, { ending, revokesAccessTokens, ip, userAgent });
  }

  private async prepare(queued: QueuedMail): Promise<Prepared | undefined> {
    const user = await this.users.findOneBy({ email: queued.to.toLowerCase(), suspendedAt: IsNull() });
    if (!user) return undefined;
    const { id: userId, email } = user;
    return this.links.issue(queued, 'reset-password', { userId, email }, LINK);
  }
}

/** A user's request to change the password. */
export interface Change extends Client {
  readonly user: { readonly id: string; readonly email: string };
  /** The session that makes the request; it continues. */
  readonly sessionId: string;
  readonly currentPassword: string;
  readonly newPassword: string;
  /** A new token for the session, or null to keep its token. */
  readonly newSessionToken: string | null;
  /** Whether the user's personal access tokens end as well. */
  readonly revokesAccessTokens: boolean;
}

export type ChangeFault = PasswordFault | CurrentPasswordFault;

/** A hash is renewed at most once, so an attempt that loses to a renewal succeeds with the new hash. */
const ATTEMPTS = 2;

/** Changes the password of a user who knows the current one. */
@Injectable()
export class PasswordChange {
  constructor(
    private readonly database: Database,
    private readonly hasher: PasswordHasher,
    private readonly currentPassword: CurrentPassword,
    private readonly audit: AuditLog,
    private readonly clock: Clock,
    private readonly endings: AccessEndings,
  ) {}

  /**
   * Changes the password and ends what `ENDINGS` says, atomically; the session of the request continues under another id. Returns
   * the fault, if any.
   * @throws Unauthorized when the session has ended, TooManyRequests after too many wrong passwords, ServiceUnavailable
   */
  async run(change: Change): Promise<ChangeFault | undefined> {
    const { user, newPassword } = change;
    const fault = await faultOfPassword(newPassword);
    if (fault) return fault;
    return this.currentPassword.counted(user.id, () => this.attempt(change));
  }

  private async attempt(change: Change): Promise<ChangeFault | undefined> {
    const { user, currentPassword, newPassword, ip } = change;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const checked = await this.currentPassword.check({ user, password: currentPassword, ip });
      if (typeof checked === 'string') return checked;
      const newHash = await this.hasher.hash(newPassword, ip);
      if (await this.replace(change, checked.hash, newHash)) return undefined;
    }
    return 'INVALID_PASSWORD'; // a concurrent request has changed it
  }

  /** Returns false, and changes nothing, when the old hash has been replaced. */
  private async replace(change: Change, hash: string, newHash: string): Promise<boolean> {
    const ended = await this.database.transaction(async (tx): Promise<Ended | undefined> => {
      const { user, sessionId } = change;
      // No session of this user begins while the lock is held; one that waits is checked against the new password.
      await lockOwnUser(tx, user.id);
      const sessions = tx.manager.getRepository(AuthSession);
      if (!(await sessions.existsBy({ userId: user.id, id: sessionId }))) throw new Unauthorized();
      const old = { ...credentialOf(user.id), password: hash };
      const changed = { password: newHash, updatedAt: this.clock.now() };
      if (!(await tx.manager.getRepository(AuthAccount).update(old, changed)).affected) return undefined;
      const { ip, userAgent, newSessionToken, revokesAccessTokens } = change;
      const circumstances = { ownSession: sessionId, newSessionToken, revokesAccessTokens };
      const ended = await this.endings.end(tx, user.id, 'password-changed', circumstances);
      const revokedTokens = ended.accessTokens.length;
      const details: AuditDetails = revokedTokens > 0 ? { revokedTokens } : {};
      await this.audit.record(
        { action: 'password.changed', userId: user.id, actor: 'user', ip, userAgent, details },
        tx,
      );
      return ended;
    });
    if (ended) this.endings.announce(ended);
    return ended !== undefined;
  }
}
