import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/index.js';
import { Log } from '../log.js';
import { type Counter, Metrics } from '../metrics.js';
import { MailQueue, type QueuedMail } from './mail-queue.js';
import {
  isTemplate,
  type Message,
  messageOf,
  type Parameters,
  type TemplateName,
  TEMPLATES,
} from './templates.js';
import { type SmtpResult, SmtpSender } from './smtp-sender.js';

/** Connections to the mail server at a time, from this instance. */
const MAX_AT_ONCE = 4;

/** How long attempts in progress may continue at shutdown. */
const GRACE_MS = 5_000;

export interface Prepared {
  readonly to: string;
  readonly template: TemplateName;
  readonly parameters: Parameters;
  /** Link that turns off mails of this kind, without a sign-in; undefined for mails that cannot be turned off. */
  readonly unsubscribe?: string;
}

/**
 * Prepares a queued mail at the time of sending. Runs again for each attempt, and must then return the same mail, or undefined
 * when the mail is no longer needed.
 */
export type Preparation = (mail: QueuedMail) => Promise<Prepared | undefined>;

type Outcome = SmtpResult['outcome'] | 'given_up' | 'dropped';

/** Claims and sends mails that are due, a few at a time. */
@Injectable()
export class MailDispatcher {
  private readonly preparations = new Map<TemplateName, Preparation>();
  private readonly sending = new Set<Promise<void>>();
  private readonly results: Counter;
  private isStopped = false;
  private onCapacity: () => void = () => undefined;

  constructor(
    private readonly queue: MailQueue,
    private readonly sender: SmtpSender,
    private readonly configuration: Configuration,
    private readonly log: Log,
    metrics: Metrics,
  ) {
    this.results = metrics.counter(
      'cloud_sync_mails_total',
      'Attempts to send a mail, by outcome: sent, failed (retried), refused, given_up or dropped (not needed any more)',
      ['outcome'],
    );
    metrics.gauge('cloud_sync_mails_waiting', 'Mails that have not been sent', [], async () =>
      configuration.hasMail ? [{ value: await queue.waiting() }] : [],
    );
  }

  prepare(template: TemplateName, preparation: Preparation): void {
    this.preparations.set(template, preparation);
  }

  /** @param onCapacity called each time an attempt ends */
  whenCapacity(onCapacity: () => void): void {
    this.onCapacity = onCapacity;
  }

  /** Starts attempts at mails that are due, up to the limit. Must not run concurrently. */
  async startDue(): Promise<void> {
    for (let room; (room = MAX_AT_ONCE - this.sending.size) > 0 && !this.isStopped;) {
      const due = await this.queue.claim(room);
      for (const mail of due) this.start(mail);
      if (due.length < room) return;
    }
  }

  /** Resolves when the attempts in progress have ended. */
  async finish(): Promise<void> {
    await Promise.all(this.sending);
  }

  get isIdle(): boolean {
    return this.sending.size === 0;
  }

  /** Starts no more attempts. Those that do not end within the grace period are aborted, and repeated later. */
  async stop(): Promise<void> {
    this.isStopped = true;
    const cutOff = setTimeout(() => this.sender.stop(), GRACE_MS);
    await this.finish();
    clearTimeout(cutOff);
  }

  private start(mail: QueuedMail): void {
    const attempt = this.log
      .bestEffort('store the result of a mail', () => this.attempt(mail))
      .then(() => {
        this.sending.delete(attempt);
        this.onCapacity();
      });
    this.sending.add(attempt);
  }

  private async attempt(mail: QueuedMail): Promise<void> {
    const { outcome, code } = await this.deliver(mail);
    const isOver = outcome !== 'failed';
    if (isOver) await this.queue.remove(mail);
    const final = isOver || (await this.queue.retry(mail)) ? outcome : 'given_up';
    this.results.add({ outcome: final });
    if (code === undefined) return;
    const { id, template, attempts } = mail; // not the address, which must not be logged
    this.log.warn({ mail: id, template, attempts, outcome: final, code }, 'a mail was not sent');
  }

  private async deliver(mail: QueuedMail): Promise<{ outcome: Outcome; code?: string }> {
    try {
      const prepared = await this.prepared(mail);
      if (!prepared) return { outcome: 'dropped' };
      return await this.sender.send(prepared.to, this.render(prepared), mail.id);
    } catch (err) {
      this.log.warn({ err, mail: mail.id }, 'a mail could not be prepared');
      return { outcome: 'failed', code: 'PREPARATION' };
    }
  }

  private async prepared(mail: QueuedMail): Promise<Prepared | undefined> {
    const { template, to, parameters } = mail;
    if (!isTemplate(template)) throw new Error(`the template ${template} is unknown`); // a newer instance may know it
    const preparation = this.preparations.get(template);
    return preparation ? preparation(mail) : { template, to, parameters };
  }

  private render({ template, parameters, unsubscribe }: Prepared): Message {
    const { publicHost } = this.configuration;
    return messageOf(TEMPLATES[template](parameters, publicHost), publicHost, unsubscribe);
  }
}
