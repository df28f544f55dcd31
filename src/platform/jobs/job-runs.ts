import { Injectable } from '@nestjs/common';
import { Database, statement } from '../database/index.js';

/** What a job has done, by keys of its own: `{ versions: 12 }`. */
export type Counts = Readonly<Record<string, number>>;

/** One run of a job. */
export interface JobRun {
  readonly name: string;
  readonly startedAt: Date;
  /** Null while it is running, and if its process died. */
  readonly endedAt: Date | null;
  readonly counts: Counts;
  /** Why the run failed. */
  readonly error: string | null;
}

/** Per job. */
export const KEPT_RUNS = 100;

const statements = {
  /** The caller holds the lock, so a run without an end can only belong to a process that died. */
  begin: statement(
    'job_runs.begin',
    `WITH interrupted AS (
       UPDATE job_runs SET error = 'its process ended before it did' WHERE name = $1 AND ended_at IS NULL AND error IS NULL
     )
     INSERT INTO job_runs (name, started_at) VALUES ($1, $2) RETURNING id`,
  ),

  /** Also deletes all but the last runs of the job ($5) and the last one without an error. */
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

  /** The time of the last start until $2: a later one was written by a wrong clock. */
  lastStart: statement(
    'job_runs.last_start',
    'SELECT max(started_at) AS "startedAt" FROM job_runs WHERE name = $1 AND started_at <= $2',
  ),

  /** Runs of one job that started until $2, newest first. */
  last: statement(
    'job_runs.last_of_name',
    `SELECT name, started_at AS "startedAt", ended_at AS "endedAt", counts, error
     FROM job_runs WHERE name = $1 AND started_at <= $2 ORDER BY id DESC LIMIT $3`,
  ),

  /** The start of the last run of a job without an error, of those that started until $2. */
  lastGood: statement(
    'job_runs.last_good',
    `SELECT started_at AS "startedAt" FROM job_runs
     WHERE name = $1 AND started_at <= $2 AND ended_at IS NOT NULL AND error IS NULL ORDER BY id DESC LIMIT 1`,
  ),

  recent: statement(
    'job_runs.recent',
    `SELECT name, started_at AS "startedAt", ended_at AS "endedAt", counts, error
     FROM job_runs ORDER BY id DESC LIMIT $1`,
  ),
};

/** Table `job_runs`: one row per run of a job. */
@Injectable()
export class JobRuns {
  constructor(private readonly database: Database) {}

  /** Must be called under the lock of the jobs. Returns the run's id. */
  async begin(name: string, now: Date): Promise<number> {
    const [run] = await this.database.run<{ id: number }>(statements.begin, [name, now]);
    if (!run) throw new Error('the run was not recorded');
    return run.id;
  }

  async end(
    id: number,
    { endedAt, counts, error }: Pick<JobRun, 'endedAt' | 'counts' | 'error'>,
  ): Promise<void> {
    await this.database.run(statements.end, [id, endedAt, JSON.stringify(counts), error, KEPT_RUNS]);
  }

  /** When a job was last started, as of `now`. */
  async lastStart(name: string, now: Date): Promise<Date | undefined> {
    const [row] = await this.database.run<{ startedAt: Date | null }>(statements.lastStart, [name, now]);
    return row?.startedAt ?? undefined;
  }

  /** The last runs of one job that had started by `now`, newest first. */
  last(name: string, now: Date, limit: number): Promise<JobRun[]> {
    return this.database.run<JobRun>(statements.last, [name, now, limit]);
  }

  /** When the last run of one job without an error was started, as of `now`. */
  async lastGood(name: string, now: Date): Promise<Date | undefined> {
    const [run] = await this.database.run<Pick<JobRun, 'startedAt'>>(statements.lastGood, [name, now]);
    return run?.startedAt;
  }

  /** Newest first. */
  recent(limit: number): Promise<JobRun[]> {
    return this.database.run<JobRun>(statements.recent, [limit]);
  }
}
