import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { IncomingHttpHeaders } from 'node:http';
import { Column, Entity, LessThan, PrimaryGeneratedColumn, Repository } from 'typeorm';
import { isDeepStrictEqual } from 'node:util';
import { Clock } from '../../../platform/clock.js';
import { Database, statement, type Tx } from '../../../platform/database/index.js';

/** What the audit log records. Names are stored and shown: once released, they do not change. */
export const AUDIT_ACTIONS = [
  'account.deleted',
  'account.demoted',
  'account.exported',
  'account.invited',
  'account.joined',
  'account.promoted',
  'account.resumed',
  'account.suspended',
  'doctor.run',
  'email.changed',
  'email.verified',
  'factor.added',
  'factor.codes-renewed',
  'factor.removed',
  'factor.reset',
  'failover.handled',
  'invitation.revoked',
  'key-session.opened',
  'key-slot.removed',
  'key-slot.set',
  'kill-switch.set',
  'password.changed',
  'password.reset',
  'plan.granted',
  'sessions.ended',
  'sign-in.development',
  'sign-in.new-client',
  'single-sign-on.linked',
  'single-sign-on.unlinked',
  'token.minted',
  'token.revoked',
  'workspace.deleted',
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** Who acted: the account's own user, an operator on the command line, an administrator on the admin page, or a job. */
export type AuditActor = 'user' | 'operator' | 'administrator' | 'service';

/** Shown to the user and to administrators: no secrets. */
export type AuditDetails = Readonly<Record<string, string | number | boolean>>;

/** Who acts, and from where. */
export interface Acting {
  readonly actor: AuditActor;
  /** The administrator who acts; undefined for others. */
  readonly actorId?: string;
  readonly ip?: string;
  readonly userAgent?: string;
}

/** The operator, on the command line. */
export const BY_OPERATOR: Acting = { actor: 'operator' };

/** The user who sends a request. */
export function byUser({ ip, headers }: { ip: string; headers: IncomingHttpHeaders }): Acting {
  return { actor: 'user', ip, userAgent: headers['user-agent'] ?? '' };
}

/** Something that was done to an account or to the service. */
@Entity('audit_events')
export class AuditEventEntity {
  @PrimaryGeneratedColumn('identity', { generatedIdentity: 'ALWAYS', type: 'bigint' })
  id: number;

  @Column('timestamptz')
  at: Date;

  /** Null for what was done to the service. */
  @Column('uuid', { nullable: true })
  userId: string | null;

  @Column('text')
  action: AuditAction;

  @Column('text')
  actor: AuditActor;

  @Column('uuid', { nullable: true })
  actorId: string | null;

  @Column('text', { nullable: true })
  ip: string | null;

  @Column('text', { nullable: true })
  userAgent: string | null;

  @Column('jsonb')
  details: AuditDetails;
}

/** As other modules read it. */
export type AuditEvent = Readonly<AuditEventEntity>;

export const auditStatements = {
  /**
   * Deletes the user's own events beyond the newest, so that $9 older ones stay, at most $10: only those that programs repeat ($11),
   * or only the others, like the new one, so that an access token does not erase what sessions have done. Events of operators
   * stay. Does not wait for another transaction that does the same: the next event deletes what is left. Locks no other event:
   * a statement with OFFSET and FOR UPDATE would also lock what it skips.
   */
  record: statement(
    'audit.record',
    `WITH surplus AS MATERIALIZED (
       SELECT id FROM audit_events
       WHERE user_id = $2 AND actor = 'user' AND $4 = 'user' AND (action = ANY ($11)) = ($3 = ANY ($11))
       ORDER BY id DESC OFFSET $9 LIMIT $10
     ), held AS MATERIALIZED (
       SELECT id FROM audit_events WHERE id IN (SELECT id FROM surplus) FOR UPDATE SKIP LOCKED
     ), forgotten AS (
       DELETE FROM audit_events WHERE id IN (SELECT id FROM held)
     )
     INSERT INTO audit_events (at, user_id, action, actor, actor_id, ip, user_agent, details)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
  ),

  /** An invitation is older than its account: its event has the address ($1) instead of the user. */
  anonymizeInvitations: statement(
    'audit.anonymize_invitations',
    `UPDATE audit_events SET ip = NULL, user_agent = NULL, details = '{}'
     WHERE user_id IS NULL AND details ->> 'email' = $1`,
  ),
};

/** Longer texts of clients are cut. */
const MOST_CHARACTERS = 512;

/** Of one account; older ones are deleted with each new event. */
export const MAX_EVENTS = 10_000;

/** How many surplus events are deleted with each new one. */
const FORGOTTEN_AT_ONCE = 1_000;

/** What an access token can do any number of times. */
const REPEATED_BY_PROGRAMS: readonly AuditAction[] = [
  'key-session.opened',
  'key-slot.removed',
  'key-slot.set',
  'workspace.deleted',
];

/** How many events `hasRecent` and `since` read. */
const LOOKED_THROUGH = 200;

const HOUR_MS = 60 * 60_000;

/** Above every id of a table. */
const NEWEST = Number.MAX_SAFE_INTEGER;

/** Something that was done to the service, or to somebody without an account. */
export interface ServiceAuditEntry extends Acting {
  readonly action: AuditAction;
  readonly details?: AuditDetails;
}

/** Something that was done to an account. */
export interface AuditEntry extends ServiceAuditEntry {
  /** The account that it was done to. */
  readonly userId: string;
}

/** Runs statements: a transaction, or the database itself. */
export type Runner = Pick<Tx, 'run'>;

export type AuditListener = (entry: AuditEntry, tx: Tx) => Promise<void>;

/**
 * What was done to accounts: who, what, when, from where. An entry is recorded in the transaction of the change that it
 * describes, where there is one.
 */
@Injectable()
export class AuditLog {
  private readonly listeners: AuditListener[] = [];

  constructor(
    @InjectRepository(AuditEventEntity) private readonly events: Repository<AuditEventEntity>,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Calls `listener` with each entry, in the transaction that records it; if the listener fails, nothing is recorded. */
  onRecord(listener: AuditListener): void {
    this.listeners.push(listener);
  }

  /** @param tx the transaction of the change; without it, the entry is committed in a transaction of its own */
  async record(entry: AuditEntry, tx?: Tx): Promise<void> {
    if (tx) await this.recordIn(tx, entry);
    else await this.database.transaction((own) => this.recordIn(own, entry));
  }

  /**
   * Whether the same, with the same details and from the same address, was recorded within the last hour, as far as the newest events
   * of the account show it: for what a program may do every few minutes.
   */
  async hasRecent(entry: AuditEntry): Promise<boolean> {
    const { userId, action, ip = null, details = {} } = entry;
    const since = new Date(this.clock.now().getTime() - HOUR_MS);
    const events = await newestSince(this.events, userId, since);
    return events.some(
      (event) => event.action === action && event.ip === ip && isDeepStrictEqual(event.details, details),
    );
  }

  /** Records what was done to the service, not to an account; listeners are not called. */
  async recordOfService(entry: ServiceAuditEntry, tx: Runner): Promise<void> {
    await this.insert(tx, entry, null);
  }

  /** The events of a user, newest first. @param before an id: only older events */
  ofUser(userId: string, limit: number, before = NEWEST): Promise<AuditEvent[]> {
    return this.events.find({ where: { userId, id: LessThan(before) }, order: { id: 'DESC' }, take: limit });
  }

  /** What happened to an account since a time, as far as its newest 200 events show it. For listeners: what they hear is included. */
  since(userId: string, time: Date, tx: Tx): Promise<AuditEvent[]> {
    return newestSince(tx.manager.getRepository(AuditEventEntity), userId, time);
  }

  /** The events of all users, newest first. @param before an id: only older events */
  page(limit: number, before = NEWEST): Promise<AuditEvent[]> {
    return this.events.find({ where: { id: LessThan(before) }, order: { id: 'DESC' }, take: limit });
  }

  /** Removes addresses, clients and details from the events of an account that is deleted. */
  async anonymize({ userId, email }: { userId: string; email: string }, tx: Tx): Promise<void> {
    const events = tx.manager.getRepository(AuditEventEntity);
    await events.update({ userId }, { ip: null, userAgent: null, details: {} });
    await tx.run(auditStatements.anonymizeInvitations, [email.toLowerCase()]); // separate: a single condition would scan the whole log
  }

  private async recordIn(tx: Tx, entry: AuditEntry): Promise<void> {
    await this.insert(tx, entry, entry.userId);
    for (const listener of this.listeners) await listener(entry, tx);
  }

  private async insert(tx: Runner, entry: ServiceAuditEntry, userId: string | null): Promise<void> {
    const { action, actor, actorId = null, ip = null, userAgent, details = {} } = entry;
    const client = [ip, userAgent?.slice(0, MOST_CHARACTERS) ?? null];
    const event = [this.clock.now(), userId, action, actor, actorId, ...client, JSON.stringify(details)];
    await tx.run(auditStatements.record, [
      ...event,
      MAX_EVENTS - 1,
      FORGOTTEN_AT_ONCE,
      [...REPEATED_BY_PROGRAMS],
    ]);
  }
}

/** Filters a user's newest events by time: a condition in SQL would read all events to find few. */
async function newestSince(
  events: Repository<AuditEventEntity>,
  userId: string,
  time: Date,
): Promise<AuditEvent[]> {
  const newest = await events.find({ where: { userId }, order: { id: 'DESC' }, take: LOOKED_THROUGH });
  return newest.filter(({ at }) => at > time);
}
