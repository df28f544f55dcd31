import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { Clock } from '../clock/index.js';
import { Database, type Tx } from '../database/index.js';
import { mailStatements } from './mail.queries.js';
import type { TemplateName } from './templates.js';
import { WaitingMail } from './waiting-mail.entity.js';

/** A mail to queue. The row has no text: it is made from the template when the mail is sent. */
export interface OutgoingMail {
  readonly template: TemplateName;
  /** An address, or what somebody entered as one if the template is prepared. */
  readonly to: string;
  /** With the account, its mails are deleted as well. */
  readonly userId?: string;
  /** Never a secret: the row is in the database until the mail is sent. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** When it is sent; at once by default. */
  readonly dueAt?: Date;
}

/** One of several events that one mail of an account tells of. */
export interface GatheredEvent {
  readonly template: TemplateName;
  readonly to: string;
  readonly userId: string;
  /** ISO 8601 and, where it is known, the address: `2026-11-27T15:50:00Z 203.0.113.7`. */
  readonly event: string;
}

/** A mail claimed by this instance. */
export interface QueuedMail {
  /** The same for each attempt. */
  readonly id: string;
  readonly userId: string | null;
  readonly to: string;
  /** The name of a template, which this version does not know when a newer one has queued the mail. */
  readonly template: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** Including the current one. */
  readonly attempts: number;
  readonly queuedAt: Date;
  readonly leaseEnds: Date;
}

/** No attempt takes this long, see SmtpSender; afterwards another instance may try. */
const LEASE_MS = 5 * 60_000;

/** The wait after a failure doubles from the first up to the second. */
const WAITS_MS = { first: 30_000, longest: 60 * 60_000 };

/** How many events a gathered mail lists; it counts all. */
const MOST_LISTED = 50;

/** A mail that could not be sent for this long is given up. */
export const GIVE_UP_AFTER_MS = 24 * 60 * 60_000;

/** The table `mail_queue`: mails that have not been sent. */
@Injectable()
export class MailQueue {
  constructor(
    @InjectRepository(WaitingMail) private readonly mails: Repository<WaitingMail>,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  async add({ template, to, userId, parameters = {}, dueAt }: OutgoingMail, tx?: Tx): Promise<void> {
    const now = this.clock.now();
    const mails = tx?.manager.getRepository(WaitingMail) ?? this.mails;
    await mails.insert({
      userId: userId ?? null,
      recipient: to,
      template,
      parameters,
      queuedAt: now,
      dueAt: dueAt ?? now,
    });
  }

  /** Adds an event to a mail that gathers such events and is not due yet. Returns whether there is one. */
  async append({ userId, template, to, event }: GatheredEvent, tx: Tx): Promise<boolean> {
    const values = [userId, template, to, this.clock.now(), event, MOST_LISTED];
    return (await tx.run(mailStatements.append, values)).length > 0;
  }

  /** Up to `limit` mails that are due, to be sent by the caller alone until their leases end. */
  claim(limit: number): Promise<QueuedMail[]> {
    const now = this.clock.now();
    const values = [now, limit, later(now, LEASE_MS), later(now, WAITS_MS.longest + LEASE_MS)];
    return this.database.run<QueuedMail>(mailStatements.claim, values);
  }

  /** The mail has been sent, or never will be. */
  async remove({ id }: QueuedMail): Promise<void> {
    await this.mails.delete({ id });
  }

  /** Schedules the next attempt, or gives the mail up. Returns whether there is a next attempt. */
  async retry(mail: QueuedMail): Promise<boolean> {
    const wait = Math.min(WAITS_MS.first * 2 ** (mail.attempts - 1), WAITS_MS.longest);
    const next = later(this.clock.now(), wait);
    if (next > later(mail.queuedAt, GIVE_UP_AFTER_MS)) {
      await this.remove(mail);
      return false;
    }
    // Changes nothing when the lease has been lost to another instance.
    await this.mails.update({ id: mail.id, dueAt: mail.leaseEnds }, { dueAt: next });
    return true;
  }

  waiting(): Promise<number> {
    return this.mails.count();
  }
}

function later(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms);
}
