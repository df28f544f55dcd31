import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository } from 'typeorm';
import { Mail, type Prepared, type QueuedMail } from '../../platform/mail/index.js';
import { Database, type Tx } from '../../platform/database/index.js';
import { AccessEndings, type Ended } from './access-endings.js';
import { lockUser } from './lock-user.js';
import { MailLimit } from './mail-limit.js';
import { MailLinks } from './mail-links.js';
import { faultOfPassword, type PasswordFault } from './password-policy.js';
import { PasswordReset } from './password-reset.js';
import { UserEntity } from './user.entity.js';

const LINK = { path: '/account/reset', lifeMs: 30 * 60_000 };

/** A new password by a link. */
export interface Recovery {
  /** What the link was sent for: it may also be one that confirms the address of a new account. */
  readonly purpose: 'reset-password' | 'verify-email';
  readonly token: string;
  readonly newPassword: string;
  readonly revokesAccessTokens: boolean;
  readonly ip: string;
  readonly userAgent: string;
}

export type RecoveryFault = PasswordFault | 'INVALID_TOKEN';

/** A new password for a user who has forgotten the current one, by a link in a mail. */
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
   * Has a link sent to an address, if it has an account. Whether it has is looked up when the mail is sent: until then every address
   * is treated the same, so neither the answer nor its time depends on it.
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
   * Sets the password and ends all sessions of the user, atomically, and uses the link. A password that cannot be chosen leaves it
   * unused. Where nobody had confirmed the address, somebody else may have made the account: everything with which it was used
   * ends too. Otherwise a second factor stays, so that a mailbox alone never replaces it. Returns what is wrong, if anything.
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

  /** Returns undefined, without any change of the account, when another request has used the link or has made it pointless. */
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
    // A link that confirms an address is valid for longer than one for a new password, and must not replace it.
    if (purpose === 'verify-email' && !isFirstProof) return undefined;
    const ending = isFirstProof ? 'first-proof' : 'password-reset';
    return this.reset.replace(tx, userId, hash, { ending, revokesAccessTokens, ip, userAgent });
  }

  private async prepare(queued: QueuedMail): Promise<Prepared | undefined> {
    const user = await this.users.findOneBy({ email: queued.to.toLowerCase(), suspendedAt: IsNull() });
    if (!user) return undefined;
    const { id: userId, email } = user;
    const parameters = await this.links.issue(queued, 'reset-password', { userId, email }, LINK);
    return parameters && { to: email, template: 'reset-password', parameters };
  }
}
