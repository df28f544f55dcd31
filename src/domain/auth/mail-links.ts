import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { IsNull, Not } from 'typeorm';
import { Configuration } from '../../platform/config/index.js';
import { type QueuedMail, WaitingMail } from '../../platform/mail/index.js';
import { Clock } from '../../platform/clock/index.js';
import { Database, type Tx } from '../../platform/database/index.js';
import { mailLinkStatements } from './auth.queries.js';
import { LinkTokens } from './link-tokens.js';
import { type LinkPurpose, MailLink } from './mail-link.entity.js';

/** The account that a link belongs to, and the address that it was sent to. */
export interface LinkTarget {
  readonly userId: string;
  readonly email: string;
}

/**
 * Links in mails that work once. The token of a link is derived from the id of its mail when the mail is sent: the database has
 * neither the token nor anything from which it could be made.
 */
@Injectable()
export class MailLinks {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly configuration: Configuration,
    private readonly tokens: LinkTokens,
  ) {}

  /**
   * Makes the link of a mail that is about to be sent. It replaces earlier links of the user for this purpose. Returns undefined
   * when this one has been used or replaced.
   * @param path the page that the link opens
   */
  async issue(
    mail: QueuedMail,
    purpose: LinkPurpose,
    { userId, email }: LinkTarget,
    { path, lifeMs }: { readonly path: string; readonly lifeMs: number },
  ): Promise<{ link: string; expires: string } | undefined> {
    const token = this.tokens.of(purpose, mail.id);
    const expires = new Date(this.clock.now().getTime() + lifeMs);
    const values = [userId, purpose, hashOf(token), email, mail.queuedAt, expires, mail.id];
    if ((await this.database.run(mailLinkStatements.issue, values)).length === 0) return undefined;
    return { link: `${this.configuration.publicUrl}${path}?token=${token}`, expires: expires.toISOString() };
  }

  /** Whom a link belongs to, without using it; undefined when it does not work. */
  async find(purpose: LinkPurpose, token: string): Promise<LinkTarget | undefined> {
    const values = [hashOf(token), purpose, this.clock.now()];
    return (await this.database.run<LinkTarget>(mailLinkStatements.find, values))[0];
  }

  /** Uses a link up. Only one of any number of concurrent calls gets its target. Lock the user first. */
  async use(tx: Tx, purpose: LinkPurpose, token: string): Promise<LinkTarget | undefined> {
    const values = [hashOf(token), purpose, this.clock.now()];
    return (await tx.run<LinkTarget>(mailLinkStatements.use, values))[0];
  }
}

/**
 * Ends the links of a user that would undo or bypass a change: call it when the password or the address changes, or sign-ins are
 * ended. A request for
 * another address that has not been sent is forgotten.
 * @param except links that keep working
 */
export async function revokeLinks(tx: Tx, userId: string, now: Date, except?: LinkPurpose): Promise<void> {
  // First, so that no link is issued after the next statement.
  await tx.manager.getRepository(WaitingMail).delete({ userId, template: 'change-email' });
  const others = except === undefined ? {} : { purpose: Not(except) };
  await tx.manager.getRepository(MailLink).update({ userId, usedAt: IsNull(), ...others }, { usedAt: now });
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();
