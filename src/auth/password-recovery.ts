import { Injectable } from '@nestjs/common';
import { Mail, type Prepared, type QueuedMail } from '../mail/index.js';
import { Database, statement, type Tx } from '../platform/database/index.js';
import { EventBus } from '../platform/events/index.js';
import { factorStatements } from './factors/index.js';
import { lockUser } from './lock-user.js';
import { MailLimit } from './mail-limit.js';
import { MailLinks } from './mail-links.js';
import { faultOfPassword, type PasswordFault } from './password-policy.js';
import { PasswordReset } from './password-reset.js';
import { TOKEN_REVOKED } from './token-secrets.js';

const LINK = { path: '/account/reset', lifeMs: 30 * 60_000 };

const statements = {
  account: statement(
    'password_recovery.account',
    'SELECT id AS "userId", email FROM users WHERE email = $1 AND suspended_at IS NULL',
  ),

  /** Whoever has the link has the mailbox. Returns a row the first time that somebody shows this. */
  verify: statement(
    'password_recovery.verify',
    'UPDATE users SET email_verified = true WHERE id = $1 AND email = $2 AND NOT email_verified RETURNING id',
  ),
};

/** A new password by a link. */
export interface Recovery {
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
    private readonly database: Database,
    private readonly mail: Mail,
    private readonly limit: MailLimit,
    private readonly links: MailLinks,
    private readonly reset: PasswordReset,
    private readonly bus: EventBus,
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
   * unused. Where nobody had confirmed the address, somebody else may have made the account: its passkeys and access tokens end
   * too. A second factor stays, so that a mailbox alone never replaces it. Returns what is wrong, if anything. @throws HashingBusy
   */
  async complete(recovery: Recovery): Promise<RecoveryFault | undefined> {
    const { token, newPassword, ip } = recovery;
    const fault = await faultOfPassword(newPassword);
    if (fault) return fault;
    const target = await this.links.find('reset-password', token);
    if (!target) return 'INVALID_TOKEN';
    const hash = await this.reset.hash(newPassword, ip);
    const revoked = await this.database.transaction((tx) => this.replace(tx, target.userId, hash, recovery));
    for (const key of revoked ?? []) this.bus.publish({ topic: TOKEN_REVOKED, key });
    return revoked ? undefined : 'INVALID_TOKEN';
  }

  /** Returns the ids of the revoked access tokens; undefined, without any change, when another request has used the link. */
  private async replace(tx: Tx, userId: string, hash: string, recovery: Recovery) {
    if (!(await lockUser(tx, userId))) return undefined;
    const used = await this.links.use(tx, 'reset-password', recovery.token);
    if (!used) return undefined;
    const isFirstProof = (await tx.run(statements.verify, [userId, used.email])).length > 0;
    if (isFirstProof) await tx.run(factorStatements.removePasskeys, [userId]);
    const { ip, userAgent } = recovery;
    const revokesAccessTokens = recovery.revokesAccessTokens || isFirstProof;
    return this.reset.replace(tx, userId, hash, { revokesAccessTokens, ip, userAgent });
  }

  private async prepare(queued: QueuedMail): Promise<Prepared | undefined> {
    const [account] = await this.database.run<{ userId: string; email: string }>(statements.account, [
      queued.to.toLowerCase(),
    ]);
    const parameters = account && (await this.links.issue(queued, 'reset-password', account, LINK));
    return parameters && { to: account.email, template: 'reset-password', parameters };
  }
}
