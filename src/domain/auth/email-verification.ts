import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository } from 'typeorm';
import { Clock } from '../../platform/clock.js';
import { Configuration } from '../../platform/config/index.js';
import { Database, type Tx } from '../../platform/database/index.js';
import { Mail, type Prepared, type QueuedMail } from '../../platform/mail/index.js';
import { AccessEndings } from './access-endings.js';
import { lockUser } from './account-fields.js';
import { AuditLog } from './audit/index.js';
import { addressOf, UserEntity } from './auth.entities.js';
import { userStatements } from './auth.queries.js';
import { type AccountClaim, AccountProof, type ProofFault } from './current-password.js';
import { type LinkTarget, MailLimit, MailLinks } from './mail-links.js';

const VERIFICATION_LINK = { path: '/account/verify', lifeMs: 24 * 60 * 60_000 };

type NewUser = Pick<UserEntity, 'id' | 'email' | 'emailVerified'>;

/** Confirms the addresses of new accounts by links in mails. Accounts not made by sign-up count as confirmed. */
@Injectable()
export class EmailVerification {
  constructor(
    @InjectRepository(UserEntity) private readonly users: Repository<UserEntity>,
    private readonly mail: Mail,
    private readonly limit: MailLimit,
    private readonly links: MailLinks,
    private readonly proof: AccountProof,
    private readonly audit: AuditLog,
    private readonly configuration: Configuration,
  ) {
    mail.prepare('verify-email', (queued) => this.prepare(queued));
  }

  /**
   * Queues a link for a new account; at most five an hour, or creating and deleting an account in turn would flood its address.
   */
  async begin({ id, email, emailVerified }: NewUser): Promise<void> {
    if (emailVerified || !(await this.limit.hasRoom('new-account', email))) return;
    await this.mail.queue({ template: 'verify-email', to: email, userId: id });
  }

  /** Notifies the owner of an address of an attempt to sign up with it; at most five times an hour. */
  async tellOwner({ id, email }: Pick<NewUser, 'id' | 'email'>): Promise<void> {
    if (!(await this.limit.hasRoom('address-taken', email))) return;
    const parameters = { link: `${this.configuration.publicUrl}/account` };
    await this.mail.queue({ template: 'address-taken', to: email, userId: id, parameters });
  }

  /**
   * Queues another link, if the address belongs to an account that has not confirmed it. Every address is treated the same until
   * the mail is sent. @throws TooManyRequests
   */
  async request(email: string, ip: string): Promise<void> {
    await this.limit.count('send-verification-email', email, ip);
    await this.mail.queue({ template: 'verify-email', to: email });
  }

  /** The account and the address that a link confirms; undefined when the link does not work. Does not use it. */
  find(token: string): Promise<LinkTarget | undefined> {
    return this.links.find('verify-email', token);
  }

  /**
   * Confirms the address if the claimant knows the password; everything that was set up before stays. Returns the fault, if any.
   * @throws as `AccountProof.during`
   */
  async confirm(token: string, claim: AccountClaim): Promise<ProofFault | undefined> {
    const target = await this.links.find('verify-email', token);
    if (!target) return 'INVALID_TOKEN';
    return this.proof.during(target.userId, claim, async (tx) => {
      const { ip, userAgent } = claim;
      const used = await this.links.use(tx, 'verify-email', token);
      if (!used) return false;
      const { userId, email } = used;
      const users = tx.manager.getRepository(UserEntity);
      if (!(await users.update({ id: userId, email }, { emailVerified: true })).affected) return false;
      await this.audit.record({ action: 'email.verified', userId, actor: 'user', ip, userAgent }, tx);
      return true;
    });
  }

  private async prepare(queued: QueuedMail): Promise<Prepared | undefined> {
    const unverified = { emailVerified: false, suspendedAt: IsNull() };
    const user = await this.users.findOneBy({ email: queued.to.toLowerCase(), ...unverified });
    if (!user) return undefined;
    const { id: userId, email } = user;
    return this.links.issue(queued, 'verify-email', { userId, email }, VERIFICATION_LINK);
  }
}

const CHANGE_LINK = { path: '/account/new-address', lifeMs: 24 * 60 * 60_000 };

/** What `EmailChange` needs to send links and to use them. */
@Injectable()
export class EmailLinks {
  constructor(
    readonly mail: Mail,
    readonly limit: MailLimit,
    readonly links: MailLinks,
    readonly proof: AccountProof,
  ) {}
}

/** Changes the email address of an account: a link at the new address confirms it, and the old address is notified. */
@Injectable()
export class EmailChange {
  constructor(
    @InjectRepository(UserEntity) private readonly users: Repository<UserEntity>,
    private readonly database: Database,
    private readonly parts: EmailLinks,
    private readonly endings: AccessEndings,
    private readonly audit: AuditLog,
    private readonly clock: Clock,
    private readonly configuration: Configuration,
  ) {
    parts.mail.prepare('change-email', (queued) => this.prepare(queued));
  }

  /**
   * Queues a link for the new address; it replaces earlier ones. The answer is the same if the address has an account; its owner
   * is then notified by mail. @throws TooManyRequests
   */
  async request(userId: string, email: string, ip: string): Promise<void> {
    await this.parts.limit.count('change-email', email, ip);
    await this.parts.mail.queue({ template: 'change-email', to: email.toLowerCase(), userId });
  }

  /** The account and the new address that a link confirms; undefined when the link does not work. Does not use it. */
  find(token: string): Promise<LinkTarget | undefined> {
    return this.parts.links.find('change-email', token);
  }

  /**
   * Changes the address if the claimant knows the password. A browser that is signed in to the account needs none, as the account
   * may have no password. Returns the fault, if any. @throws as `AccountProof.during`
   */
  async confirm(token: string, claim: AccountClaim): Promise<ProofFault | undefined> {
    const target = await this.parts.links.find('change-email', token);
    if (!target) return 'INVALID_TOKEN';
    const { userId } = target;
    const change = (tx: Tx): Promise<boolean> => this.change(tx, userId, token, claim);
    if (claim.signedInUserId !== userId) return this.parts.proof.during(userId, claim, change);
    return (await this.database.transaction(change)) ? undefined : 'INVALID_TOKEN';
  }

  private async change(
    tx: Tx,
    userId: string,
    token: string,
    { ip, userAgent }: AccountClaim,
  ): Promise<boolean> {
    const now = this.clock.now();
    if (!(await lockUser(tx, userId))) return false;
    const before = await addressOf(tx.manager.getRepository(UserEntity), userId);
    const used = await this.parts.links.use(tx, 'change-email', token);
    if (before === undefined || !used) return false;
    if ((await tx.run(userStatements.changeAddress, [userId, used.email, now])).length === 0) return false;
    await this.endings.end(tx, userId, 'email-changed'); // links at the old address must not open the account
    await this.audit.record({ action: 'email.changed', userId, actor: 'user', ip, userAgent }, tx);
    const parameters = { at: now.toISOString() };
    await this.parts.mail.queue({ template: 'email-changed', to: before, userId, parameters }, tx);
    return true;
  }

  private async prepare(queued: QueuedMail): Promise<Prepared | undefined> {
    const { to: email, userId } = queued;
    const owner = await this.users.findOneBy({ email });
    if (userId === null || owner?.id === userId) return undefined;
    if (owner) {
      const parameters = { link: `${this.configuration.publicUrl}/account` };
      return { to: email, template: 'address-taken', parameters };
    }
    return this.parts.links.issue(queued, 'change-email', { userId, email }, CHANGE_LINK);
  }
}
