import { type BeforeApplicationShutdown, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Column, Entity, In, IsNull, MoreThan, PrimaryGeneratedColumn, Repository } from 'typeorm';
import { type Acting, AuditLog } from '../../domain/auth/audit/index.js';
import { Clock, drained } from '../../platform/clock.js';
import { Database, statement } from '../../platform/database/index.js';
import { Doctor, type Finding } from '../../platform/doctor.js';
import { Conflict } from '../../platform/http/index.js';
import { Log } from '../../platform/log.js';

/** Key of the advisory lock that serializes starts of the doctor. */
const START = 7_325_190_037;

export const adminPagesStatements = {
  lockStart: statement('doctor_runs.lock', `SELECT pg_advisory_xact_lock(${START})`),

  /** Leases use the database clock. */
  instances: statement(
    'service_status.instances',
    'SELECT count(*)::integer AS instances FROM instances WHERE alive_until > statement_timestamp()',
  ),
};

/** A check of the stored data. */
@Entity('doctor_runs')
export class DoctorRun {
  @PrimaryGeneratedColumn('identity', { generatedIdentity: 'ALWAYS', type: 'bigint' })
  id: number;

  @Column('timestamptz')
  startedAt: Date;

  /** Null while it runs. */
  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;

  @Column('integer', { nullable: true })
  found: number | null;

  /** The first findings. */
  @Column('jsonb')
  findings: Finding[];

  /** Why it did not complete. */
  @Column('text', { nullable: true })
  error: string | null;
}

/** Earlier runs that are kept beside a new one. */
const KEPT = 9;

/** Findings beyond this are counted, but not listed. */
const LISTED = 100;

/** A run without an end that is older than this belongs to a process that ended. */
const LONGEST_MS = 6 * 60 * 60_000;

/** The doctor's read-only check, in the background of this instance; its result is in the database, for all instances. */
@Injectable()
export class DoctorRuns implements BeforeApplicationShutdown, OnApplicationShutdown {
  private running: Promise<void> = Promise.resolve();
  private draining: Promise<void> | undefined;
  private isStopping = false;

  constructor(
    @InjectRepository(DoctorRun) private readonly runs: Repository<DoctorRun>,
    private readonly database: Database,
    private readonly doctor: Doctor,
    private readonly audit: AuditLog,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /** Starts a check and does not wait for it. @throws Conflict while one runs, on any instance */
  async start(by: Acting): Promise<void> {
    const now = this.clock.now();
    const id = await this.database.transaction(async (tx) => {
      await tx.run(adminPagesStatements.lockStart, []);
      const runs = tx.manager.getRepository(DoctorRun);
      const since = new Date(now.getTime() - LONGEST_MS);
      if (await runs.existsBy({ endedAt: IsNull(), startedAt: MoreThan(since) }))
        throw new Conflict('a check is running; its result appears here when it has ended');
      const old = await runs.find({ select: { id: true }, order: { id: 'DESC' }, skip: KEPT });
      await runs.delete({ id: In(old.map(({ id }) => id)) });
      const run = runs.create({ startedAt: now });
      await runs.insert(run);
      await this.audit.recordOfService({ action: 'doctor.run', ...by }, tx);
      return run.id;
    });
    this.running = this.log
      .bestEffort('check the stored data', () => this.check(id, now))
      .then(() => undefined);
  }

  async last(): Promise<DoctorRun | undefined> {
    const [run] = await this.runs.find({ order: { id: 'DESC' }, take: 1 });
    return run;
  }

  /** The check stops after the current finding. */
  beforeApplicationShutdown(): void {
    this.isStopping = true;
    this.draining = drained(this.running);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.draining;
  }

  private async check(id: number, now: Date): Promise<void> {
    const findings: Finding[] = [];
    let found = 0;
    let error: string | null = null;
    try {
      for await (const finding of this.doctor.examine({ now, isDeep: false, fix: false })) {
        found++;
        if (findings.length < LISTED) findings.push(finding);
        if (this.isStopping) throw new Error('the service was stopped');
      }
    } catch (err) {
      this.log.warn({ err }, 'the check of the stored data failed');
      error = 'The check did not reach its end. The log says why.';
    }
    await this.runs.update({ id }, { endedAt: this.clock.now(), found, findings, error });
  }
}
