import { type BeforeApplicationShutdown, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type Acting, AuditLog } from '../audit/index.js';
import { Clock, drained } from '../platform/clock/index.js';
import { Database, statement } from '../platform/database/index.js';
import { Doctor, type Finding } from '../platform/doctor/index.js';
import { Conflict } from '../platform/http/index.js';
import { Log } from '../platform/log/index.js';

/** Key of the advisory lock that serializes starts. */
const START = 7_325_190_037;

const statements = {
  /** Keeps the last runs, and starts none beside one that began after $2: an earlier one was interrupted. */
  start: statement(
    'doctor_runs.start',
    `WITH forgotten AS (
       DELETE FROM doctor_runs WHERE id IN (SELECT id FROM doctor_runs ORDER BY id DESC OFFSET 9)
     )
     INSERT INTO doctor_runs (started_at)
     SELECT $1 WHERE NOT EXISTS (SELECT 1 FROM doctor_runs WHERE ended_at IS NULL AND started_at > $2)
     RETURNING id`,
  ),

  lock: statement('doctor_runs.lock', `SELECT pg_advisory_xact_lock(${START})`),

  end: statement(
    'doctor_runs.end',
    'UPDATE doctor_runs SET ended_at = $2, found = $3, findings = $4::jsonb, error = $5 WHERE id = $1',
  ),

  last: statement(
    'doctor_runs.last',
    `SELECT started_at AS "startedAt", ended_at AS "endedAt", found, findings, error
     FROM doctor_runs ORDER BY id DESC LIMIT 1`,
  ),
};

/** Findings beyond this are counted, but not listed. */
const LISTED = 100;

/** A run without an end that is older than this belongs to a process that ended. */
const LONGEST_MS = 6 * 60 * 60_000;

/** A check of the stored data. */
export interface DoctorRun {
  readonly startedAt: Date;
  /** Null while it runs. */
  readonly endedAt: Date | null;
  readonly found: number | null;
  readonly findings: readonly Finding[];
  /** Why it did not end. */
  readonly error: string | null;
}

/** The doctor's read-only check, in the background of this instance; its result is in the database, for all instances. */
@Injectable()
export class DoctorRuns implements BeforeApplicationShutdown, OnApplicationShutdown {
  private running: Promise<void> = Promise.resolve();
  private draining: Promise<void> | undefined;
  private isStopping = false;

  constructor(
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
      await tx.run(statements.lock, []);
      const values = [now, new Date(now.getTime() - LONGEST_MS)];
      const [run] = await tx.run<{ id: number }>(statements.start, values);
      if (!run) throw new Conflict('a check is running; its result appears here when it has ended');
      await this.audit.recordOfService({ action: 'doctor.run', ...by }, tx);
      return run.id;
    });
    this.running = this.log
      .bestEffort('check the stored data', () => this.check(id, now))
      .then(() => undefined);
  }

  async last(): Promise<DoctorRun | undefined> {
    const [run] = await this.database.run<DoctorRun>(statements.last, []);
    return run;
  }

  /** The check ends after the finding under way. */
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
    await this.database.run(statements.end, [id, this.clock.now(), found, JSON.stringify(findings), error]);
  }
}
