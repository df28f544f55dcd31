import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Repository } from 'typeorm';
import { AuditLog } from './audit/index.js';
import { Configuration } from '../../platform/config/index.js';
import { Mail, type Prepared, type QueuedMail } from '../../platform/mail/index.js';
import { type AccountClaim, AccountProof, type ProofFault } from './account-proof.js';
import { MailLimit } from './mail-limit.js';
import { type LinkTarget, MailLinks } from './mail-links.js';
import { UserEntity } from './user.entity.js';

const LINK = { path: '/account/verify', lifeMs: 24 * 60 * 60_000 };

/** The addresses of new accounts, confirmed by a link in a mail. Accounts that somebody else has made count as confirmed. */
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

  /** Has a link sent to a new account; at most five an hour, or an account could be made and deleted in turn. */
  async begin({
    id,
    email,
    emailVerified,
  }: {
    id: string;
    email: string;
    emailVerified: boolean;
  }): Promise<void> {
    if (emailVerified || !(await this.limit.hasRoom('new-account', email))) return;
    await this.mail.queue({ template: 'verify-email', to: email, userId: id });
  }

  /** Tells the owner of an address that somebody tried to sign up with it; not more often than other requests send mails. */
  async tellOwner({ id, email }: { id: string; email: string }): Promise<void> {
    if (!(await this.limit.hasRoom('address-taken', email))) return;
    const parameters = { link: `${this.configuration.publicUrl}/account` };
    await this.mail.queue({ template: 'address-taken', to: email, userId: id, parameters });
  }

  /**
   * Has another link sent, if the address belongs to an account that has not confirmed it. Every address is treated the same until
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
   * Uses a link, if the account is the claimant's: everything that was set up before the confirmation stays. Returns what is wrong,
   * if anything. @throws as `AccountProof.during`
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
    const parameters = await this.links.issue(queued, 'verify-email', { userId, email }, LINK);
    return parameters && { to: email, template: 'verify-email', parameters };
  }
}
