import { type FactoryProvider, Inject, Injectable } from '@nestjs/common';
import { createHash, createHmac, hkdfSync } from 'node:crypto';
import { IsNull, Not } from 'typeorm';
import { Clock } from '../../platform/clock.js';
import { Configuration, keptSecret } from '../../platform/config/index.js';
import { Database, type Tx } from '../../platform/database/index.js';
import { TooManyRequests } from '../../platform/http/index.js';
import { type Prepared, type QueuedMail, WaitingMail } from '../../platform/mail/index.js';
import type { Runner } from './audit/index.js';
import { type LinkPurpose, MailLink } from './auth.entities.js';
import { mailLinkStatements } from './auth.queries.js';
import { GuessLimit, WrongPasswords } from './wrong-passwords.js';

export const LINK_KEY = Symbol('LINK_KEY');

export const provideLinkKey: FactoryProvider<Buffer> = {
  provide: LINK_KEY,
  inject: [Configuration],
  useFactory: async ({ authSecret, dataDir }: Configuration) =>
    Buffer.from(
      hkdfSync('sha256', authSecret ?? (await keptSecret(dataDir, 'auth-secret')), '', 'mail-links', 32),
    ),
};

/**
 * Derives the tokens of links in mails from a secret of the service: the database alone is not enough to forge one, and each
 * attempt to send a mail uses the same token.
 */
@Injectable()
export class LinkTokens {
  constructor(@Inject(LINK_KEY) private readonly key: Buffer) {}

  /**
   * 43 characters of base64url.
   * @param purpose what the link does; a constant without `|`
   * @param subject what it is about, unique within the purpose
   */
  of(purpose: string, subject: string): string {
    return createHmac('sha256', this.key).update(`${purpose}|${subject}`).digest('base64url');
  }
}

/** The account that a link belongs to, and the address that it was sent to. */
export interface LinkTarget {
  readonly userId: string;
  readonly email: string;
}

/**
 * Links in mails that work once. The token of a link is derived from the id of its mail when the mail is sent: the database has
 * neither the token nor anything to derive it from.
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
   * Creates the link of a mail that is about to be sent, and returns the mail. The link replaces earlier links of the user for
   * this purpose. Returns undefined when this one has been used or replaced.
   * @param path the page that the link opens
   */
  async issue(
    mail: QueuedMail,
    purpose: LinkPurpose,
    { userId, email }: LinkTarget,
    { path, lifeMs }: { readonly path: string; readonly lifeMs: number },
  ): Promise<Prepared | undefined> {
    const token = this.tokens.of(purpose, mail.id);
    const expires = new Date(this.clock.now().getTime() + lifeMs);
    const values = [userId, purpose, hashOf(token), email, mail.queuedAt, expires, mail.id];
    if ((await this.database.run(mailLinkStatements.issue, values)).length === 0) return undefined;
    const link = `${this.configuration.publicUrl}${path}?token=${token}`;
    return { to: email, template: purpose, parameters: { link, expires: expires.toISOString() } };
  }

  /** The target of a link; undefined when the link does not work. Does not use it up. */
  async find(purpose: LinkPurpose, token: string): Promise<LinkTarget | undefined> {
    const values = [hashOf(token), purpose, this.clock.now()];
    return (await this.database.run<LinkTarget>(mailLinkStatements.find, values))[0];
  }

  /** Uses up a link: only one of several concurrent calls gets its target. Lock the user first. */
  async use(tx: Tx, purpose: LinkPurpose, token: string): Promise<LinkTarget | undefined> {
    const values = [hashOf(token), purpose, this.clock.now()];
    return (await tx.run<LinkTarget>(mailLinkStatements.use, values))[0];
  }
}

/**
 * Revokes the links of a user that could undo or bypass a change: call this when the password or the address changes, or sessions
 * are ended. Deletes queued mails with a link to change the address.
 * @param except the purpose of links that keep working
 */
export async function revokeLinks(tx: Tx, userId: string, now: Date, except?: LinkPurpose): Promise<void> {
  // First, so that no link is issued after the next statement.
  await tx.manager.getRepository(WaitingMail).delete({ userId, template: 'change-email' });
  const others = except === undefined ? {} : { purpose: Not(except) };
  await tx.manager.getRepository(MailLink).update({ userId, usedAt: IsNull(), ...others }, { usedAt: now });
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Limits mails that callers without a session can trigger, for addresses with and without an account alike. */
@Injectable()
export class MailLimit {
  constructor(
    private readonly guessLimit: GuessLimit,
    private readonly wrongPasswords: WrongPasswords,
  ) {}

  /**
   * Counts a request for a mail.
   * @param action distinguishes the counts of different mails
   * @throws TooManyRequests as `GuessLimit.count`, and after five mails an hour to the address
   */
  async count(action: string, email: string, ip: string): Promise<void> {
    await this.guessLimit.count(action, ip);
    await this.wrongPasswords.countMail(`${action}:${email.toLowerCase()}`);
  }

  /** Counts a mail that was not requested for its address. Returns false, instead of throwing, after five an hour. */
  async hasRoom(kind: string, email: string, run?: Runner): Promise<boolean> {
    try {
      await this.wrongPasswords.countMail(`${kind}:${email.toLowerCase()}`, run);
      return true;
    } catch (error) {
      if (error instanceof TooManyRequests) return false;
      throw error;
    }
  }
}
