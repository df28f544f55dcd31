import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { createHash, randomUUID } from 'node:crypto';
import { type FindOptionsWhere, MoreThan, Repository } from 'typeorm';
import { Clock } from '../../platform/clock.js';
import { Configuration } from '../../platform/config/index.js';
import { Database, type Tx } from '../../platform/database/index.js';
import { BadRequest, Conflict, NotFound } from '../../platform/http/index.js';
import { Mail, type Prepared, type QueuedMail } from '../../platform/mail/index.js';
import { type Acting, AuditLog } from '../auth/audit/index.js';
import { EMAIL_RULE, Invitation, isEmailAddress, LinkTokens, Users } from '../auth/index.js';
import { accountStatements } from './accounts.queries.js';

/** The open invitation that a link belongs to. */
export interface InvitationOfLink {
  readonly email: string;
  readonly expiresAt: Date;
}

type Find = (token: string) => Promise<InvitationOfLink | undefined>;

/**
 * The links of invitations, and the mails that carry them. A queued mail stores the id that its link is derived from, which is
 * useless without the service's secret.
 */
@Injectable()
export class InvitationMails {
  constructor(
    private readonly mail: Mail,
    private readonly tokens: LinkTokens,
    private readonly configuration: Configuration,
  ) {}

  /** Whether invitations are mailed. */
  get areOn(): boolean {
    return this.mail.isOn;
  }

  newLink(): { readonly id: string; readonly token: string; readonly link: string } {
    const id = randomUUID();
    const token = this.tokenOf(id);
    return { id, token, link: this.linkOf(token) };
  }

  /** Queues the mail of an invitation in the transaction that creates it. Does nothing where the service cannot send mail. */
  async queue(id: string, email: string, tx: Tx): Promise<void> {
    await this.mail.queue({ template: 'invitation', to: email, parameters: { id } }, tx);
  }

  /** @param find returns the open invitation of a token: no mail is sent for one that is used, revoked, replaced or expired */
  whenSending(find: Find): void {
    this.mail.prepare('invitation', (queued) => this.prepare(queued, find));
  }

  private async prepare({ to, parameters }: QueuedMail, find: Find): Promise<Prepared | undefined> {
    const token = this.tokenOf(parameters['id'] ?? '');
    const invitation = await find(token);
    if (invitation?.email !== to) return undefined;
    const expires = invitation.expiresAt.toISOString();
    return { to, template: 'invitation', parameters: { link: this.linkOf(token), expires } };
  }

  private tokenOf(id: string): string {
    return this.tokens.of('invitation', id);
  }

  private linkOf(token: string): string {
    return `${this.configuration.publicUrl}/account/invitation?token=${token}`;
  }
}

/** How long an invitation can be accepted. */
const VALID_MS = 7 * 24 * 60 * 60_000;

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** An invitation that has not been accepted yet. */
export type OpenInvitation = Readonly<Pick<Invitation, 'email' | 'createdAt' | 'expiresAt'>>;

/** A new invitation. The link is a secret: the database has a hash of its token. */
export interface NewInvitation {
  readonly email: string;
  readonly link: string;
  readonly expiresAt: Date;
  /** Whether a mail with the link was queued as well. */
  readonly isMailed: boolean;
}

/** The account to create, with the hash of its password. */
export interface Invitee {
  readonly name: string;
  readonly passwordHash: string;
}

/** `unknown`: the link was used, replaced or revoked, or has expired. `taken`: the address has an account by now. */
export type InvitationFault = 'unknown' | 'taken';

/** Invitations create accounts while sign-up is closed: a link for one address, for one use, for seven days. */
@Injectable()
export class Invitations {
  constructor(
    @InjectRepository(Invitation) private readonly invitations: Repository<Invitation>,
    private readonly users: Users,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly audit: AuditLog,
    private readonly mails: InvitationMails,
  ) {
    mails.whenSending((token) => this.find(token));
  }

  /**
   * Replaces an earlier invitation of the address. Mails the link where the service can send mail, and returns it in any case.
   * @throws BadRequest for an invalid address, Conflict when it has an account
   */
  async invite(address: string, by: Acting): Promise<NewInvitation> {
    const email = await this.invitable(address);
    const { id, token, link } = this.mails.newLink();
    const now = this.clock.now();
    const expiresAt = new Date(now.getTime() + VALID_MS);
    await this.database.transaction(async (tx) => {
      const invitation = { email, tokenHash: hashOf(token), createdAt: now, expiresAt };
      await tx.manager.getRepository(Invitation).upsert(invitation, ['email']);
      await this.audit.recordOfService({ action: 'account.invited', ...by, details: { email } }, tx);
      await this.mails.queue(id, email, tx);
    });
    return { email, link, expiresAt, isMailed: this.mails.areOn };
  }

  /** The address in lower case, if it can be invited. @throws BadRequest, Conflict as `invite` */
  async invitable(address: string): Promise<string> {
    if (!isEmailAddress(address)) throw new BadRequest(`email ${EMAIL_RULE}`);
    const email = address.toLowerCase();
    if (await this.users.findByEmail(email)) throw new Conflict(`there is an account ${email} already`);
    return email;
  }

  /** The open invitations, newest first, at most `limit`. */
  open(limit: number): Promise<OpenInvitation[]> {
    return this.invitations.find({
      select: { email: true, createdAt: true, expiresAt: true },
      where: { expiresAt: MoreThan(this.clock.now()) },
      order: { expiresAt: 'DESC', email: 'ASC' },
      take: limit,
    });
  }

  /** @throws NotFound unless the address has an open invitation */
  async revoke(address: string, by: Acting): Promise<void> {
    const email = address.toLowerCase();
    await this.database.transaction(async (tx) => {
      const open = { email, expiresAt: MoreThan(this.clock.now()) };
      const { affected } = await tx.manager.getRepository(Invitation).delete(open);
      if (affected === 0) throw new NotFound(`there is no open invitation of ${email}`);
      await this.audit.recordOfService({ action: 'invitation.revoked', ...by, details: { email } }, tx);
    });
  }

  /** The address that a link invites; undefined when the link does not work. */
  async addressOf(token: string): Promise<string | undefined> {
    return TOKEN.test(token) ? (await this.find(token))?.email : undefined;
  }

  /** Uses up the link and creates the account, atomically; the address counts as verified. */
  accept(
    token: string,
    { name, passwordHash }: Invitee,
    by: Acting,
  ): Promise<{ email: string } | InvitationFault> {
    const now = this.clock.now();
    return this.database.transaction(async (tx) => {
      const invitations = tx.manager.getRepository(Invitation);
      const link = behind(token, now);
      const used = await invitations.findOneBy(link);
      // Among requests with the same link, only the first deletes the row, on any number of instances.
      if (!used || (await invitations.delete(link)).affected === 0) return 'unknown';
      const { email } = used;
      const values = [email, name, passwordHash, now];
      const [user] = await tx.run<{ id: string }>(accountStatements.join, values);
      if (!user) return 'taken';
      await this.audit.record({ action: 'account.joined', userId: user.id, ...by }, tx);
      return { email };
    });
  }

  private async find(token: string): Promise<InvitationOfLink | undefined> {
    return (await this.invitations.findOneBy(behind(token, this.clock.now()))) ?? undefined;
  }
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** The open invitation of a link. */
const behind = (token: string, now: Date): FindOptionsWhere<Invitation> => ({
  tokenHash: hashOf(token),
  expiresAt: MoreThan(now),
});
