import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { IncomingHttpHeaders } from 'node:http';
import { Column, Entity, LessThan, PrimaryGeneratedColumn, Repository } from 'typeorm';
import { isDeepStrictEqual } from 'node:util';
import { Clock } from '../../../platform/clock.js';
import { Database, statement, type Tx } from '../../../platform/database/index.js';

/** The actions in the audit log. Names are stored and shown: do not change a released one. */
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

/** The account's own user, an operator on the command line, an administrator on the admin page, or a job. */
export type AuditActor = 'user' | 'operator' | 'administrator' | 'service';

/** Shown to the user and to administrators: no secrets. */
export type AuditDetails = Readonly<Record<string, string | number | boolean>>;

/** The actor and the client. */
export interface Acting {
  readonly actor: AuditActor;
  /** The administrator who acts; undefined for other actors. */
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

/** An action on an account or on the service. */
@Entity('audit_events')
export class AuditEventEntity {
  @PrimaryGeneratedColumn('identity', { generatedIdentity: 'ALWAYS', type: 'bigint' })
  id: number;

  @Column('timestamptz')
  at: Date;

  /** Null for actions on the service. */
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

/** An event as other modules read it. */
export type AuditEvent = Readonly<AuditEventEntity>;

export const auditStatements = {
  /**
   * Inserts an event, and deletes the user's own events beyond the newest $9, at most $10. Actions that programs repeat ($11) and
   * all others are counted apart, so that an access token does not evict what sessions have done. Events of operators stay. Skips
   * events that a concurrent transaction is deleting; the next insert deletes the rest. The surplus is selected without locks:
   * OFFSET with FOR UPDATE would also lock the rows that it skips.
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

  /** Events of an invitation precede its account: they have the address ($1) in their details, and no user. */
  anonymizeInvitations: statement(
    'audit.anonymize_invitations',
    `UPDATE audit_events SET ip = NULL, user_agent = NULL, details = '{}'
     WHERE user_id IS NULL AND details ->> 'email' = $1`,
  ),
};

/** Longer user agents are cut. */
const MOST_CHARACTERS = 512;

/** Events kept per account, counted apart for actions that programs repeat; each new event deletes older ones. */
export const MAX_EVENTS = 10_000;

/** Surplus events deleted with each new event, at most. */
const FORGOTTEN_AT_ONCE = 1_000;

/** Actions that an access token can repeat without limit. */
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

/** An action on the service, or on a person without an account. */
export interface ServiceAuditEntry extends Acting {
  readonly action: AuditAction;
  readonly details?: AuditDetails;
}

/** An action on an account. */
export interface AuditEntry extends ServiceAuditEntry {
  /** The account acted on. */
  readonly userId: string;
}

/** Runs statements: a transaction, or the database itself. */
export type Runner = Pick<Tx, 'run'>;

export type AuditListener = (entry: AuditEntry, tx: Tx) => Promise<void>;

/**
 * The log of actions on accounts and on the service: who, what, when, from where. An entry is recorded in the transaction of the
 * change that it describes, if there is one.
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
   * Whether an equal entry (action, details, IP address) of the last hour is among the account's newest 200 events. For actions
   * that a program may repeat every few minutes.
   */
  async hasRecent(entry: AuditEntry): Promise<boolean> {
    const { userId, action, ip = null, details = {} } = entry;
    const since = new Date(this.clock.now().getTime() - HOUR_MS);
    const events = await newestSince(this.events, userId, since);
    return events.some(
      (event) => event.action === action && event.ip === ip && isDeepStrictEqual(event.details, details),
    );
  }

  /** Records an action on the service; listeners are not called. */
  async recordOfService(entry: ServiceAuditEntry, tx: Runner): Promise<void> {
    await this.insert(tx, entry, null);
  }

  /** The events of a user, newest first. @param before an id: only older events */
  ofUser(userId: string, limit: number, before = NEWEST): Promise<AuditEvent[]> {
    return this.events.find({ where: { userId, id: LessThan(before) }, order: { id: 'DESC' }, take: limit });
  }

  /** The events of an account after `time`, among its newest 200. In a listener, they include the event being recorded. */
  since(userId: string, time: Date, tx: Tx): Promise<AuditEvent[]> {
    return newestSince(tx.manager.getRepository(AuditEventEntity), userId, time);
  }

  /** The events of all users, newest first. @param before an id: only older events */
  page(limit: number, before = NEWEST): Promise<AuditEvent[]> {
    return this.events.find({ where: { id: LessThan(before) }, order: { id: 'DESC' }, take: limit });
  }

  /** Removes IP addresses, user agents and details from the events of an account that is deleted. */
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

/** Filters in memory: with a condition on the time, PostgreSQL would read all events of the user to find few. */
async function newestSince(
  events: Repository<AuditEventEntity>,
  userId: string,
  time: Date,
): Promise<AuditEvent[]> {
  const newest = await events.find({ where: { userId }, order: { id: 'DESC' }, take: LOOKED_THROUGH });
  return newest.filter(({ at }) => at > time);
}
