import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { Configuration } from '../config/index.js';
import type { QueuedMail } from '../mail/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, statement, type Tx } from '../platform/database/index.js';
import { LinkTokens } from './link-tokens.js';

export type LinkPurpose = 'reset-password' | 'verify-email' | 'change-email';

const LINK_STATEMENTS = {
  /**
   * Stores a link, or extends it when its mail ($7) is sent again. Returns no row when the link has been used, or replaced by one
   * that was requested later, or when its mail was forgotten: the lock waits for `forgetQueued`, or has it wait.
   */
  issue: statement(
    'mail_links.issue',
    `INSERT INTO mail_links AS l (user_id, purpose, token_hash, email, requested_at, expires_at)
     SELECT $1::uuid, $2, $3::bytea, $4, $5::timestamptz, $6::timestamptz FROM mail_queue WHERE id = $7 FOR KEY SHARE
     ON CONFLICT (user_id, purpose) DO UPDATE
     SET token_hash = excluded.token_hash, email = excluded.email, requested_at = excluded.requested_at,
         expires_at = excluded.expires_at, used_at = NULL
     WHERE l.requested_at < excluded.requested_at OR (l.token_hash = excluded.token_hash AND l.used_at IS NULL)
     RETURNING l.user_id`,
  ),

  find: statement(
    'mail_links.find',
    `SELECT l.user_id AS "userId", l.email FROM mail_links l JOIN users u ON u.id = l.user_id AND u.suspended_at IS NULL
     WHERE l.token_hash = $1 AND l.purpose = $2 AND l.used_at IS NULL AND l.expires_at > $3`,
  ),

  use: statement(
    'mail_links.use',
    `UPDATE mail_links SET used_at = $3
     WHERE token_hash = $1 AND purpose = $2 AND used_at IS NULL AND expires_at > $3
     RETURNING user_id AS "userId", email`,
  ),

  revoke: statement(
    'mail_links.revoke',
    'UPDATE mail_links SET used_at = $2 WHERE user_id = $1 AND used_at IS NULL AND purpose <> $3',
  ),

  forgetQueued: statement(
    'mail_links.forget_queued',
    `DELETE FROM mail_queue WHERE user_id = $1 AND template = 'change-email'`,
  ),
};

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
    if ((await this.database.run(LINK_STATEMENTS.issue, values)).length === 0) return undefined;
    return { link: `${this.configuration.publicUrl}${path}?token=${token}`, expires: expires.toISOString() };
  }

  /** Whom a link belongs to, without using it; undefined when it does not work. */
  async find(purpose: LinkPurpose, token: string): Promise<LinkTarget | undefined> {
    const values = [hashOf(token), purpose, this.clock.now()];
    return (await this.database.run<LinkTarget>(LINK_STATEMENTS.find, values))[0];
  }

  /** Uses a link up. Only one of any number of concurrent calls gets its target. Lock the user first. */
  async use(tx: Tx, purpose: LinkPurpose, token: string): Promise<LinkTarget | undefined> {
    const values = [hashOf(token), purpose, this.clock.now()];
    return (await tx.run<LinkTarget>(LINK_STATEMENTS.use, values))[0];
  }
}

/**
 * Ends the links of a user that would undo or bypass a change: call it when the password or the address changes, or sign-ins are
 * ended. A request for
 * another address that has not been sent is forgotten.
 * @param except links that keep working
 */
export async function revokeLinks(
  tx: Pick<Tx, 'run'>,
  userId: string,
  now: Date,
  except?: LinkPurpose,
): Promise<void> {
  await tx.run(LINK_STATEMENTS.forgetQueued, [userId]); // first, so that no link is issued after the next statement
  await tx.run(LINK_STATEMENTS.revoke, [userId, now, except ?? '']);
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();
