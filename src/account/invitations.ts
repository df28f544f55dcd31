import { Injectable } from '@nestjs/common';
import { createHash, randomBytes } from 'node:crypto';
import { type Acting, AuditLog } from '../audit/index.js';
import { EMAIL_RULE, isEmailAddress } from '../auth/index.js';
import { Configuration } from '../config/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database } from '../platform/database/index.js';
import { BadRequest, Conflict, NotFound } from '../platform/http/index.js';
import { invitationStatements } from './invitations.queries.js';

/** How long an invitation can be accepted. */
const VALID_MS = 7 * 24 * 60 * 60_000;

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** An invitation that was not accepted yet. */
export interface OpenInvitation {
  readonly email: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** A new invitation. The link is a secret: the database has a hash of its token. */
export interface NewInvitation {
  readonly email: string;
  readonly link: string;
  readonly expiresAt: Date;
}

/** The account to make, with the hash of its password. */
export interface Invitee {
  readonly name: string;
  readonly passwordHash: string;
}

/** `unknown`: the link was used, replaced or revoked, or has expired. `taken`: the address has an account by now. */
export type InvitationFault = 'unknown' | 'taken';

/** Invitations make accounts while sign-up is closed: a link for one address, for one use, for seven days. */
@Injectable()
export class Invitations {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly audit: AuditLog,
    private readonly configuration: Configuration,
  ) {}

  /** Replaces an earlier invitation of the address. @throws BadRequest for an invalid address, Conflict when it has an account */
  async invite(address: string, by: Acting): Promise<NewInvitation> {
    const email = await this.invitable(address);
    const token = randomBytes(32).toString('base64url');
    const now = this.clock.now();
    const expiresAt = new Date(now.getTime() + VALID_MS);
    await this.database.transaction(async (tx) => {
      await tx.run(invitationStatements.invite, [email, hashOf(token), now, expiresAt]);
      await this.audit.recordOfService({ action: 'account.invited', ...by, details: { email } }, tx);
    });
    const link = `${this.configuration.publicUrl}/account/invitation?token=${token}`;
    return { email, link, expiresAt };
  }

  /** The address as it would be invited. @throws BadRequest, Conflict as `invite` */
  async invitable(address: string): Promise<string> {
    if (!isEmailAddress(address)) throw new BadRequest(`email ${EMAIL_RULE}`);
    const email = address.toLowerCase();
    if ((await this.database.run(invitationStatements.hasAccount, [email])).length > 0)
      throw new Conflict(`there is an account ${email} already`);
    return email;
  }

  /** The open invitations, newest first, at most `limit`. */
  open(limit: number): Promise<OpenInvitation[]> {
    return this.database.run<OpenInvitation>(invitationStatements.open, [this.clock.now(), limit]);
  }

  /** @throws NotFound unless the address has an open invitation */
  async revoke(address: string, by: Acting): Promise<void> {
    const email = address.toLowerCase();
    await this.database.transaction(async (tx) => {
      const revoked = await tx.run(invitationStatements.revoke, [email, this.clock.now()]);
      if (revoked.length === 0) throw new NotFound(`there is no open invitation of ${email}`);
      await this.audit.recordOfService({ action: 'invitation.revoked', ...by, details: { email } }, tx);
    });
  }

  /** The address that a link invites; undefined when the link does not work. */
  async addressOf(token: string): Promise<string | undefined> {
    if (!TOKEN.test(token)) return undefined;
    const values = [hashOf(token), this.clock.now()];
    const [found] = await this.database.run<{ email: string }>(invitationStatements.find, values);
    return found?.email;
  }

  /** Uses the link up and makes the account, atomically; the address counts as verified. */
  accept(
    token: string,
    { name, passwordHash }: Invitee,
    by: Acting,
  ): Promise<{ email: string } | InvitationFault> {
    const now = this.clock.now();
    return this.database.transaction(async (tx) => {
      // Of requests with the same link, the first one deletes the row, on any number of instances.
      const [used] = await tx.run<{ email: string }>(invitationStatements.use, [hashOf(token), now]);
      if (!used) return 'unknown';
      const { email } = used;
      const [user] = await tx.run<{ id: string }>(invitationStatements.createUser, [email, name, now]);
      if (!user) return 'taken';
      await tx.run(invitationStatements.addPassword, [user.id, passwordHash, now]);
      await this.audit.record({ action: 'account.joined', userId: user.id, ...by }, tx);
      return { email };
    });
  }
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();
