import {
  type BeforeApplicationShutdown,
  Injectable,
  Module,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CoalescingRunner } from '../async.js';
import { Configuration } from '../config/index.js';
import type { Tx } from '../database/index.js';
import { Background } from '../jobs/index.js';
import { Log, requestScope } from '../log.js';
import { MailDispatcher, type Preparation } from './mail-dispatcher.js';
import { type GatheredEvent, MailQueue, type OutgoingMail, WaitingMail } from './mail-queue.js';
import { SmtpSender } from './smtp-sender.js';
import type { TemplateName } from './templates.js';

export { GIVE_UP_AFTER_MS, type OutgoingMail, type QueuedMail, WaitingMail } from './mail-queue.js';
export { SmtpSender, type SmtpResult } from './smtp-sender.js';
export { type TemplateName, testMessage } from './templates.js';
export type { Prepared } from './mail-dispatcher.js';

const LOOK_EVERY_MS = 1_000;

/** The transaction that queues a mail has usually committed by then; otherwise the next poll finds the mail. */
const WAKE_AFTER_MS = 20;

/** Sends mail from a queue in PostgreSQL, at least once and never inside a request. Without SMTP_URL nothing is queued. */
@Injectable()
export class Mail implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly rounds = new CoalescingRunner(async () => {
    await requestScope.exit(() => this.log.bestEffort('send mail', () => this.dispatcher.startDue()));
  });
  private waking: NodeJS.Timeout | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly background: Background,
    private readonly queueTable: MailQueue,
    private readonly dispatcher: MailDispatcher,
    private readonly log: Log,
  ) {}

  get isOn(): boolean {
    return this.configuration.hasMail;
  }

  /** Queues a mail, in the caller's transaction if there is one: it is sent if and only if that commits. */
  async queue(mail: OutgoingMail, tx?: Tx): Promise<void> {
    if (!this.isOn) return;
    await this.queueTable.add(mail, tx);
    if (!this.background.isOn) return; // an admin command leaves the mail to the service
    this.waking ??= setTimeout(() => {
      this.waking = undefined;
      void this.work();
    }, WAKE_AFTER_MS).unref();
  }

  /** Adds an event to a queued mail of the account that gathers such events. Returns whether there is such a mail. */
  append(event: GatheredEvent, tx: Tx): Promise<boolean> {
    return this.queueTable.append(event, tx);
  }

  /** Registers a preparation, which decides at the time of sending what mails of this template become. */
  prepare(template: TemplateName, preparation: Preparation): void {
    this.dispatcher.prepare(template, preparation);
  }

  onApplicationBootstrap(): void {
    this.dispatcher.whenCapacity(() => void this.work());
  }

  /** Sends all mails that are due, and resolves when each has been tried. The timer would also send them without this call. */
  async sendDue(): Promise<void> {
    do {
      await this.work();
      await this.dispatcher.finish();
    } while (!this.rounds.isIdle || !this.dispatcher.isIdle);
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearTimeout(this.waking);
    await this.dispatcher.stop();
  }

  @Interval(LOOK_EVERY_MS)
  async work(): Promise<void> {
    if (this.isOn) await this.rounds.run();
  }
}

@Module({
  imports: [TypeOrmModule.forFeature([WaitingMail])],
  providers: [Mail, MailDispatcher, MailQueue, SmtpSender],
  exports: [Mail, SmtpSender],
})
export class MailModule {}
