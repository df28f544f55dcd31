import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Column, Entity, IsNull, LessThanOrEqual, Not, PrimaryGeneratedColumn, Repository } from 'typeorm';
import { shared } from '../async.js';
import { Database, statement } from '../database/index.js';
import { Metrics, type Reading } from '../metrics.js';

/** What a job has done, under keys of its own choice: `{ versions: 12 }`. */
export type Counts = Readonly<Record<string, number>>;

@Entity('job_runs')
export class StoredRun {
  @PrimaryGeneratedColumn('identity', { generatedIdentity: 'ALWAYS', type: 'bigint' })
  id: number;

  @Column('text')
  name: string;

  @Column('timestamptz')
  startedAt: Date;

  /** Null while it is running, and if its process died. */
  @Column('timestamptz', { nullable: true })
  endedAt: Date | null;

  @Column('json')
  counts: Counts;

  @Column('text', { nullable: true })
  error: string | null;
}

export const jobStatements = {
  /** Also deletes older runs of the job, except its last $5 runs and the last one without an error. */
  end: statement(
    'job_runs.end',
    `WITH forgotten AS (
       DELETE FROM job_runs r
       USING job_runs ended
         CROSS JOIN LATERAL (
           SELECT id, coalesce((SELECT max(id) FROM job_runs WHERE name = ended.name AND ended_at IS NOT NULL AND error IS NULL), 0) AS good
           FROM job_runs WHERE name = ended.name ORDER BY id DESC OFFSET $5 LIMIT 1
         ) newest_forgotten
       WHERE ended.id = $1 AND r.name = ended.name AND r.id <= newest_forgotten.id AND r.id <> newest_forgotten.good
     )
     UPDATE job_runs SET ended_at = $2, counts = $3::json, error = $4 WHERE id = $1`,
  ),

  lastOfEach: statement(
    'job_runs.last',
    `SELECT DISTINCT ON (name) name, started_at AS "startedAt", ended_at AS "endedAt", error IS NULL AS "isGood"
   FROM job_runs ORDER BY name, id DESC`,
  ),
};

/** $1: the clock. Whether it is close to the time in the row `t`, or has been consistent for a day, however far ahead it is. */
const IS_TRUSTED = `(
  $1 <= t.trusted_until + interval '48 hours'
  OR coalesce($1 BETWEEN t.doubted_until AND t.doubted_until + interval '48 hours'
              AND $1 >= t.doubted_from + interval '24 hours', false))`;

export const timeStatements = {
  /** $2: whether the clock is consistent with an earlier, trusted reading in this process. */
  look: statement(
    'trusted_time.look',
    `INSERT INTO trusted_time AS t (trusted_until) VALUES ($1)
     ON CONFLICT (id) DO UPDATE SET
       trusted_until = CASE WHEN $2 OR ${IS_TRUSTED} THEN greatest(t.trusted_until, $1) ELSE t.trusted_until END,
       doubted_from = CASE WHEN $2 OR ${IS_TRUSTED} THEN NULL
                           WHEN $1 BETWEEN t.doubted_until AND t.doubted_until + interval '48 hours' THEN t.doubted_from
                           ELSE $1 END,
       doubted_until = CASE WHEN $2 OR ${IS_TRUSTED} THEN NULL ELSE $1 END
     RETURNING trusted_until AS "asOf"`,
  ),

  peek: statement(
    'trusted_time.peek',
    `SELECT CASE WHEN ${IS_TRUSTED} THEN greatest(t.trusted_until, $1) ELSE t.trusted_until END AS "asOf" FROM trusted_time t`,
  ),
};

export type JobRun = Readonly<Omit<StoredRun, 'id'>>;

/** Per job. */
export const KEPT_RUNS = 100;

/** Table `job_runs`: one row per run of a job. */
@Injectable()
export class JobRuns {
  constructor(
    @InjectRepository(StoredRun) private readonly runs: Repository<StoredRun>,
    private readonly database: Database,
  ) {}

  /** Call this under the lock of the jobs, so that a run without an end belongs to a process that died. Returns the run's id. */
  begin(name: string, now: Date): Promise<number> {
    return this.database.transaction(async (tx) => {
      const runs = tx.manager.getRepository(StoredRun);
      await runs.update(
        { name, endedAt: IsNull(), error: IsNull() },
        { error: 'its process ended before it did' },
      );
      const { identifiers } = await runs.insert({ name, startedAt: now });
      return (identifiers[0] as Pick<StoredRun, 'id'>).id;
    });
  }

  async end(
    id: number,
    { endedAt, counts, error }: Pick<JobRun, 'endedAt' | 'counts' | 'error'>,
  ): Promise<void> {
    await this.database.run(jobStatements.end, [id, endedAt, JSON.stringify(counts), error, KEPT_RUNS]);
  }

  /** When a job was last started, as of `now`: a later start was written by a wrong clock. */
  async lastStart(name: string, now: Date): Promise<Date | undefined> {
    const where = { name, startedAt: LessThanOrEqual(now) };
    return (await this.runs.findOne({ where, order: { startedAt: 'DESC' } }))?.startedAt;
  }

  /** The last runs of one job that had started by `now`, newest first. */
  async last(name: string, now: Date, limit: number): Promise<JobRun[]> {
    const where = { name, startedAt: LessThanOrEqual(now) };
    return (await this.runs.find({ where, order: { id: 'DESC' }, take: limit })).map(runOf);
  }

  /** When the last run of one job without an error was started, as of `now`. */
  async lastGood(name: string, now: Date): Promise<Date | undefined> {
    const where = { name, startedAt: LessThanOrEqual(now), endedAt: Not(IsNull()), error: IsNull() };
    return (await this.runs.findOne({ where, order: { id: 'DESC' } }))?.startedAt;
  }

  /** Newest first. */
  async recent(limit: number): Promise<JobRun[]> {
    return (await this.runs.find({ order: { id: 'DESC' }, take: limit })).map(runOf);
  }
}

function runOf({ name, startedAt, endedAt, counts, error }: StoredRun): JobRun {
  return { name, startedAt, endedAt, counts, error };
}

interface LastRun extends Pick<JobRun, 'name' | 'startedAt' | 'endedAt'> {
  readonly isGood: boolean;
}

const seconds = (time: Date): number => time.getTime() / 1000;

/** Metrics of the last run of each job; every instance reports the same values. */
@Injectable()
export class JobMetrics {
  private readonly read: () => Promise<LastRun[]>;

  constructor(
    database: Database,
    private readonly metrics: Metrics,
  ) {
    this.read = shared(() => database.run<LastRun>(jobStatements.lastOfEach, []));
    this.declare('last_start_timestamp_seconds', 'Start of the last run of a job', (run) =>
      seconds(run.startedAt),
    );
    this.declare(
      'last_end_timestamp_seconds',
      'End of the last run of a job; absent while it is running',
      ({ endedAt }) => endedAt && seconds(endedAt),
    );
    this.declare(
      'last_success',
      '1 if the last run of a job succeeded, 0 if it failed; absent while it is running',
      ({ endedAt, isGood }) => (endedAt || !isGood ? Number(isGood) : null),
    );
  }

  /** The label is not `job`: Prometheus has its own label of that name. */
  private declare(name: string, help: string, valueOf: (run: LastRun) => number | null): void {
    this.metrics.gauge(`cloud_sync_job_${name}`, help, ['name'], async () =>
      (await this.read()).flatMap((run): Reading[] => {
        const value = valueOf(run);
        return value === null ? [] : [{ labels: { name: run.name }, value }];
      }),
    );
  }
}
