import { Injectable } from '@nestjs/common';
import type pg from 'pg';
import { AuditLog, BY_OPERATOR, type Runner } from '../../domain/auth/audit/index.js';
import { OperatorError } from '../../platform/config/index.js';
import { Clock } from '../../platform/clock.js';
import {
  Database,
  isServiceRunning,
  type Parameter,
  sqlState,
  type Statement,
} from '../../platform/database/index.js';
import { failoverStatements, LEAVE_GAP } from './backup.queries.js';
import { cursorGap, inOneTransaction, SNAPSHOT } from './restores.js';

const UNKNOWN = 'unknown';

/** Keeps out uploads, and a second command, until the transaction ends. */
const LOCK = 'LOCK TABLE workspaces';

export interface FailoverRequest {
  /** A time at which this server had everything that was acknowledged until then. */
  readonly since: Date;
  /** Also when this failover has been handled already. */
  readonly again: boolean;
}

export interface HandledFailover {
  /** Set when the failover had been handled before, and nothing was done. */
  readonly handledAt?: Date;
  /** By how much each head is advanced. */
  readonly gap: number;
  readonly workspaces: number;
}

/**
 * Prepares a database after an asynchronous standby has taken over, or after tools other than the service's have restored it. It
 * may lack the last changes: without a gap, new changes would get their cursors, and devices that have seen the lost changes
 * would miss the new ones.
 */
@Injectable()
export class Failovers {
  constructor(
    private readonly database: Database,
    private readonly audit: AuditLog,
    private readonly clock: Clock,
  ) {}

  /**
   * Advances all heads, once for each failover.
   * @throws OperatorError while a service runs, and when the time is yet to come
   */
  async handle(request: FailoverRequest): Promise<HandledFailover> {
    const incarnation = await this.incarnation();
    return inOneTransaction(this.database, 'BEGIN', async (client) => {
      await client.query(LOCK);
      const plan = await this.foresee(client, request, incarnation);
      if (plan.handledAt) return plan;
      await client.query(LEAVE_GAP, [plan.gap]);
      const details = { since: request.since.toISOString(), gap: plan.gap, incarnation };
      await this.audit.recordOfService(
        { action: 'failover.handled', ...BY_OPERATOR, details },
        runnerOf(client),
      );
      return plan;
    });
  }

  /** Returns what `handle` would do. @throws OperatorError where it would */
  async preview(request: FailoverRequest): Promise<HandledFailover> {
    const incarnation = await this.incarnation();
    return inOneTransaction(this.database, SNAPSHOT, (client) => this.foresee(client, request, incarnation));
  }

  /** Not every server provides it; without it, every failover counts as a new one. */
  private async incarnation(): Promise<string> {
    try {
      const [row] = await this.database.run<{ incarnation: string }>(failoverStatements.incarnation, []);
      return row?.incarnation ?? UNKNOWN;
    } catch (error) {
      if (sqlState(error) === undefined) throw error;
      return UNKNOWN;
    }
  }

  private async foresee(
    client: pg.ClientBase,
    { since, again }: FailoverRequest,
    incarnation: string,
  ): Promise<HandledFailover> {
    const now = this.clock.now();
    if (since > now) throw new OperatorError('--since is in the future.');
    if (await isServiceRunning(async (sql) => (await client.query<object>(sql)).rows))
      throw new OperatorError(
        'A service is running on this database; stop all instances first. One that was killed counts as running for 20 s.',
      );
    const tx = runnerOf(client);
    const [{ workspaces } = { workspaces: 0 }] = await tx.run<{ workspaces: number }>(
      failoverStatements.count,
      [],
    );
    const [last] = await tx.run<{ at: Date; incarnation: string }>(failoverStatements.last, []);
    const plan = { gap: cursorGap(since, now), workspaces };
    // A later `since` is a later loss, even with the same incarnation: a snapshot of the server's disk has the same identifiers.
    const isSame = incarnation !== UNKNOWN && last?.incarnation === incarnation;
    return isSame && since <= last.at && !again ? { ...plan, gap: 0, handledAt: last.at } : plan;
  }
}

const runnerOf = (client: pg.ClientBase): Runner => ({
  run: async <Row>(prepared: Statement, values: readonly Parameter[]) =>
    (await client.query({ ...prepared, values: [...values] })).rows as Row[],
});
