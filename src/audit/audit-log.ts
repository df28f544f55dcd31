import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock/index.js';
import { Database, statement, type Tx } from '../platform/database/index.js';
import type { Acting } from './acting.js';
import type { AuditAction, AuditActor } from './actions.js';

const statements = {
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

  /** Whether an event is among the newest $6 of the user since $2. */
  isAmongNewest: statement(
    'audit.is_among_newest',
    `SELECT 1 AS found FROM (
       SELECT at, action, ip, details FROM audit_events WHERE user_id = $1 ORDER BY id DESC LIMIT $6
     ) newest
     WHERE at > $2 AND action = $3 AND ip IS NOT DISTINCT FROM $4 AND details = $5::jsonb LIMIT 1`,
  ),

  /** What the newest $3 events of a user since $2 are. */
  since: statement(
    'audit.since',
    `SELECT action, details FROM (
       SELECT at, action, details FROM audit_events WHERE user_id = $1 ORDER BY id DESC LIMIT $3
     ) newest
     WHERE at > $2`,
  ),

  /** The newest $3 events of a user below the id $2. */
  ofUser: statement(
    'audit.of_user',
    `SELECT id, at, user_id AS "userId", action, actor, actor_id AS "actorId", ip, user_agent AS "userAgent", details
     FROM audit_events WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
  ),

  /** The newest $2 events of all users below the id $1. */
  page: statement(
    'audit.page',
    `SELECT id, at, user_id AS "userId", action, actor, actor_id AS "actorId", ip, user_agent AS "userAgent", details
     FROM audit_events WHERE id < $1 ORDER BY id DESC LIMIT $2`,
  ),

  anonymize: statement(
    'audit.anonymize',
    `UPDATE audit_events SET ip = NULL, user_agent = NULL, details = '{}' WHERE user_id = $1`,
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

export type AuditDetails = Readonly<Record<string, string | number | boolean>>;

/** Something that was done to the service, or to somebody without an account. */
export interface ServiceAuditEntry extends Acting {
  readonly action: AuditAction;
  /** Shown to the user and to administrators: no secrets. */
  readonly details?: AuditDetails;
}

/** Something that was done to an account. */
export interface AuditEntry extends ServiceAuditEntry {
  /** The account that it was done to. */
  readonly userId: string;
}

export interface AuditEvent {
  readonly id: number;
  readonly at: Date;
  /** Null for what was done to the service. */
  readonly userId: string | null;
  readonly action: AuditAction;
  readonly actor: AuditActor;
  readonly actorId: string | null;
  readonly ip: string | null;
  readonly userAgent: string | null;
  readonly details: AuditDetails;
}

/** Runs statements: a transaction, or the database itself. */
export type Runner = Pick<Tx, 'run'>;

export type AuditListener = (entry: AuditEntry, run: Runner) => Promise<void>;

/**
 * What was done to accounts: who, what, when, from where. An entry is recorded in the transaction of the change that it
 * describes, where there is one.
 */
@Injectable()
export class AuditLog {
  private readonly listeners: AuditListener[] = [];

  constructor(
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
    const values = [userId, since, action, ip, JSON.stringify(details), LOOKED_THROUGH];
    return (await this.database.run(statements.isAmongNewest, values)).length > 0;
  }

  /** Records what was done to the service, not to an account; listeners are not called. */
  async recordOfService(entry: ServiceAuditEntry, tx: Runner): Promise<void> {
    await this.insert(tx, entry, null);
  }

  /** The events of a user, newest first. @param before an id: only older events */
  ofUser(userId: string, limit: number, before = NEWEST): Promise<AuditEvent[]> {
    return this.database.run<AuditEvent>(statements.ofUser, [userId, before, limit]);
  }

  /** What happened to an account since a time, as far as its newest 200 events show it. For listeners: what they hear is included. */
  since(
    userId: string,
    time: Date,
    run: Runner,
  ): Promise<(Pick<AuditEvent, 'details'> & { readonly action: string })[]> {
    return run.run(statements.since, [userId, time, LOOKED_THROUGH]);
  }

  /** The events of all users, newest first. @param before an id: only older events */
  page(limit: number, before = NEWEST): Promise<AuditEvent[]> {
    return this.database.run<AuditEvent>(statements.page, [before, limit]);
  }

  /** Removes addresses, clients and details from the events of an account that is deleted. */
  async anonymize({ userId, email }: { userId: string; email: string }, tx: Tx): Promise<void> {
    await tx.run(statements.anonymize, [userId]);
    await tx.run(statements.anonymizeInvitations, [email.toLowerCase()]); // separate: a single condition would scan the whole log
  }

  private async recordIn(tx: Tx, entry: AuditEntry): Promise<void> {
    await this.insert(tx, entry, entry.userId);
    for (const listener of this.listeners) await listener(entry, tx);
  }

  private async insert(tx: Runner, entry: ServiceAuditEntry, userId: string | null): Promise<void> {
    const { action, actor, actorId = null, ip = null, userAgent, details = {} } = entry;
    const client = [ip, userAgent?.slice(0, MOST_CHARACTERS) ?? null];
    const event = [this.clock.now(), userId, action, actor, actorId, ...client, JSON.stringify(details)];
    await tx.run(statements.record, [...event, MAX_EVENTS - 1, FORGOTTEN_AT_ONCE, [...REPEATED_BY_PROGRAMS]]);
  }
}
