import { Injectable } from '@nestjs/common';
import { type AuditEntry, AuditLog, type Runner } from '../audit/index.js';
import { MailLimit } from '../auth/index.js';
import { Configuration } from '../config/index.js';
import { Mail, type TemplateName } from '../mail/index.js';
import { Clock } from '../platform/clock/index.js';
import { statement } from '../platform/database/index.js';

const addressOf = statement(
  'security_notices.address_of',
  'SELECT email, email_verified AS "isVerified" FROM users WHERE id = $1 AND suspended_at IS NULL',
);

/**
 * Tells the owner of an account what was done to it, by mail, in the transaction that did it. Nobody can switch these mails off:
 * an intruder would do so first. An address that nobody has confirmed may be a stranger's, so it gets a few in an hour at most.
 */
@Injectable()
export class SecurityNotices {
  constructor(
    audit: AuditLog,
    private readonly mail: Mail,
    private readonly limit: MailLimit,
    private readonly clock: Clock,
    private readonly configuration: Configuration,
  ) {
    audit.onRecord((entry, run) => this.tell(entry, run));
  }

  private async tell(entry: AuditEntry, run: Runner): Promise<void> {
    const template = this.mail.isOn ? templateFor(entry) : undefined;
    if (template === undefined) return;
    const [user] = await run.run<{ email: string; isVerified: boolean }>(addressOf, [entry.userId]);
    if (!user || !(user.isVerified || (await this.limit.hasRoom('notice', user.email, run)))) return;
    const parameters = {
      at: this.clock.now().toISOString(),
      link: `${this.configuration.publicUrl}/account`,
      ...(entry.actor === 'user' && entry.ip !== undefined ? { from: entry.ip } : {}),
    };
    await this.mail.queue({ template, to: user.email, userId: entry.userId, parameters }, run);
  }
}

/** By action of the audit log. */
const NOTICES: ReadonlyMap<string, TemplateName> = new Map([
  ['password.changed', 'password-changed'],
  ['password.reset', 'password-changed'],
  ['sign-in.new-client', 'new-sign-in'],
  ['single-sign-on.linked', 'single-sign-on-linked'],
  ['single-sign-on.unlinked', 'single-sign-on-unlinked'],
]);

/** The notice about an action, if there is one. An account that single sign-on has made is not told of its own link. */
function templateFor({ action, details = {} }: AuditEntry): TemplateName | undefined {
  if (action.startsWith('factor.')) return 'factor-changed';
  if (action === 'token.minted') return /\bfull\b/.test(String(details['scopes'])) ? 'full-token' : undefined;
  if (details['isNewAccount'] === true) return undefined;
  return NOTICES.get(action);
}
