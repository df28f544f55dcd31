import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Column, Entity, PrimaryGeneratedColumn, Repository } from 'typeorm';
import { Clock } from '../clock.js';
import { Database, statement, type Tx } from '../database/index.js';
import type { TemplateName } from './templates.js';

export const mailStatements = {
  /**
   * Adds the line $5 to a gathering mail that is not due at $4; beyond $6 lines, it only counts the event. A claimed mail is not
   * changed, because it may already have been sent.
   */
  append: statement(
    'mail_queue.append',
    `UPDATE mail_queue SET parameters = parameters || jsonb_build_object(
       'count', ((parameters ->> 'count')::integer + 1)::text,
       'events', CASE WHEN (parameters ->> 'count')::integer < $6 THEN concat(parameters ->> 'events', E'\\n', $5::text)
                      ELSE parameters ->> 'events' END
     )
     WHERE id = (
       SELECT id FROM mail_queue
       WHERE user_id = $1 AND template = $2 AND recipient = $3 AND attempts = 0 AND due_at > $4
         AND parameters ->> 'count' IS NOT NULL
       ORDER BY due_at LIMIT 1 FOR UPDATE
     )
     RETURNING id`,
  ),

  /**
   * Claims up to $2 mails that are due at $1: until the lease ends at $3, no instance claims them again. A mail that is due after
   * $4, which is later than any wait, was written with a wrong clock.
   */
  claim: statement(
    'mail_queue.claim',
    `WITH due AS (
       SELECT id FROM mail_queue WHERE due_at <= $1 OR due_at > $4
       ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
     )
     UPDATE mail_queue m SET due_at = $3, attempts = m.attempts + 1 FROM due WHERE m.id = due.id
     RETURNING m.id, m.user_id AS "userId", m.recipient AS "to", m.template, m.parameters, m.attempts,
               m.queued_at AS "queuedAt", m.due_at AS "leaseEnds"`,
  ),
};

/** An unsent mail. Its text is made from the template when it is sent. */
@Entity('mail_queue')
export class WaitingMail {
  /** The same for each attempt. */
  @PrimaryGeneratedColumn('uuid')
  id: string;

  /** Deleting the account deletes its mails. */
  @Column('uuid', { nullable: true })
  userId: string | null;

  @Column('text')
  recipient: string;

  /** The name of a template; unknown to this version if a newer one has queued the mail. */
  @Column('text')
  template: string;

  @Column('jsonb')
  parameters: Readonly<Record<string, string>>;

  @Column('timestamptz')
  queuedAt: Date;

  /** The end of the lease while an instance sends it. */
  @Column('timestamptz')
  dueAt: Date;

  /** Including one in progress. */
  @Column('integer')
  attempts: number;
}

export interface OutgoingMail {
  readonly template: TemplateName;
  /** An address or, for a template with a preparation, text that a user entered as an address. */
  readonly to: string;
  readonly userId?: string;
  /** Never a secret: the row is in the database until the mail is sent. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** When it is sent; immediately by default. */
  readonly dueAt?: Date;
}

/** One of the events that a gathering mail of an account lists. */
export interface GatheredEvent {
  readonly template: TemplateName;
  readonly to: string;
  readonly userId: string;
  /** ISO 8601 time and, if known, the network address: `2026-11-27T15:50:00Z 203.0.113.7`. */
  readonly event: string;
}

/** A mail claimed by this instance. */
export interface QueuedMail extends Readonly<Omit<WaitingMail, 'recipient' | 'dueAt'>> {
  readonly to: string;
  readonly leaseEnds: Date;
}

/** No attempt takes this long, see `SmtpSender`; afterwards another instance may try. */
const LEASE_MS = 5 * 60_000;

/** The wait after a failure doubles, from `first` up to `longest`. */
const WAITS_MS = { first: 30_000, longest: 60 * 60_000 };

/** Maximum number of events that a gathering mail lists; it counts all of them. */
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

  /** Adds an event to a mail that gathers such events and is not due yet. Returns whether there is such a mail. */
  async append({ userId, template, to, event }: GatheredEvent, tx: Tx): Promise<boolean> {
    const values = [userId, template, to, this.clock.now(), event, MOST_LISTED];
    return (await tx.run(mailStatements.append, values)).length > 0;
  }

  /** Claims up to `limit` mails that are due: only the caller sends them until their leases end. */
  claim(limit: number): Promise<QueuedMail[]> {
    const now = this.clock.now();
    const values = [now, limit, later(now, LEASE_MS), later(now, WAITS_MS.longest + LEASE_MS)];
    return this.database.run<QueuedMail>(mailStatements.claim, values);
  }

  /** Removes a mail that has been sent, or never will be. */
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
