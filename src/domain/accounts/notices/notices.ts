import { Injectable } from '@nestjs/common';
import { Entity, IsNull, PrimaryColumn } from 'typeorm';
import { Clock } from '../../../platform/clock.js';
import { Configuration } from '../../../platform/config/index.js';
import { Database, type Tx } from '../../../platform/database/index.js';
import { Mail, type Prepared, type QueuedMail, type TemplateName } from '../../../platform/mail/index.js';
import { type AuditDetails, type AuditEntry, AuditLog } from '../../auth/audit/index.js';
import { MailLimit, UserEntity } from '../../auth/index.js';
import {
  ALL_MUTABLE,
  type MutableNotice,
  MutedNotices,
  noticeStatements,
  UnsubscribeLinks,
} from './muted-notices.js';

/** After a mail about a kind of event, further events of the kind are collected for this long. */
const GATHERED_FOR_MS = 10 * 60_000;

/**
 * Notifies the owner of an account of security events by mail, in the transaction of the event. These mails cannot be turned off:
 * an intruder would do so first. The first event of a kind is mailed at once; those of the next ten minutes are collected in one
 * mail, so that nobody can bury a mail under hundreds. An unconfirmed address may be a stranger's, so it gets at most a few an
 * hour.
 */
@Injectable()
export class SecurityNotices {
  constructor(
    private readonly audit: AuditLog,
    private readonly mail: Mail,
    private readonly limit: MailLimit,
    private readonly clock: Clock,
    private readonly configuration: Configuration,
  ) {
    audit.onRecord((entry, tx) => this.tell(entry, tx));
  }

  private async tell(entry: AuditEntry, tx: Tx): Promise<void> {
    const template = this.mail.isOn ? templateFor(entry) : undefined;
    if (template === undefined) return;
    const { userId } = entry;
    const user = await lockedAccount(tx, userId);
    if (!user) return;
    const to = user.email;
    const at = this.clock.now().toISOString();
    const from = entry.actor === 'user' ? entry.ip : undefined;
    const event = from === undefined ? at : `${at} ${from}`;
    const isRepeated = await this.isRepeated(userId, template, tx);
    if (isRepeated && (await this.mail.append({ template, to, userId, event }, tx))) return;
    if (!(user.emailVerified || (await this.limit.hasRoom('notice', to, tx)))) return;
    const link = `${this.configuration.publicUrl}/account`;
    const parameters = { at, link, ...(from === undefined ? {} : { from }) };
    const gathered = { parameters: { ...parameters, count: '1', events: event }, dueAt: this.gathered() };
    await this.mail.queue({ template, to, userId, parameters, ...(isRepeated && gathered) }, tx);
  }

  /** Whether the owner was recently notified of another event of the kind. */
  private async isRepeated(userId: string, template: TemplateName, tx: Tx): Promise<boolean> {
    const since = new Date(this.clock.now().getTime() - GATHERED_FOR_MS);
    const events = await this.audit.since(userId, since, tx);
    return events.filter((event) => templateFor(event) === template).length > 1; // one is the event itself
  }

  private gathered(): Date {
    return new Date(this.clock.now().getTime() + GATHERED_FOR_MS);
  }
}

/** Locks the account, unless it is suspended, so that of two concurrent events the second sees the first. */
function lockedAccount(tx: Tx, id: string): Promise<Pick<UserEntity, 'email' | 'emailVerified'> | null> {
  return tx.manager.getRepository(UserEntity).findOne({
    select: { email: true, emailVerified: true },
    where: { id, suspendedAt: IsNull() },
    lock: { mode: 'for_no_key_update' },
  });
}

/** By action of the audit log. */
const NOTICES: ReadonlyMap<string, TemplateName> = new Map([
  ['password.changed', 'password-changed'],
  ['password.reset', 'password-changed'],
  ['sign-in.new-client', 'new-sign-in'],
  ['single-sign-on.linked', 'single-sign-on-linked'],
  ['single-sign-on.unlinked', 'single-sign-on-unlinked'],
]);

interface TellingEvent {
  readonly action: string;
  readonly details?: AuditDetails;
}

/** The notice about an action, if there is one. An account that single sign-on has created gets none about that link. */
function templateFor({ action, details = {} }: TellingEvent): TemplateName | undefined {
  if (action.startsWith('factor.')) return 'factor-changed';
  if (action === 'token.minted') return /\bfull\b/.test(String(details['scopes'])) ? 'full-token' : undefined;
  if (details['isNewAccount'] === true) return undefined;
  return NOTICES.get(action);
}

const DAYS_BEFORE = 3;

/**
 * Mails about a trial that ends in three days, and about a failed payment; once each. Whether the user wants them is checked when
 * they are sent, so that turning them off also stops those already queued.
 */
@Injectable()
export class BillingNotices {
  constructor(
    private readonly database: Database,
    private readonly mail: Mail,
    private readonly configuration: Configuration,
    private readonly muted: MutedNotices,
    private readonly links: UnsubscribeLinks,
  ) {
    for (const notice of ALL_MUTABLE) mail.prepare(notice, (queued) => this.prepare(notice, queued));
  }

  /** Queues the mails that are due. Concurrent calls queue each mail once. */
  async queue(now: Date): Promise<{ queued: number }> {
    const { hasSubscriptions, publicUrl } = this.configuration;
    if (!this.mail.isOn || !hasSubscriptions) return { queued: 0 };
    const until = new Date(now.getTime() + DAYS_BEFORE * 24 * 60 * 60_000);
    const queued = await this.database.run(noticeStatements.queueDue, [now, until, `${publicUrl}/account`]);
    return { queued: queued.length };
  }

  private async prepare(
    notice: MutableNotice,
    { userId, to, parameters }: QueuedMail,
  ): Promise<Prepared | undefined> {
    if (userId === null || (await this.muted.isMuted(userId, notice))) return undefined;
    return { to, template: notice, parameters, unsubscribe: this.links.linkFor({ userId, notice }) };
  }
}

/** A notice that was queued: each is queued once. */
@Entity('mail_notices')
export class MailNotice {
  @PrimaryColumn('uuid')
  userId: string;

  @PrimaryColumn('text')
  notice: string;

  /** The end of the trial, or the time of the failed payment. */
  @PrimaryColumn('timestamptz')
  about: Date;
}
