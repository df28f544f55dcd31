import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, LessThanOrEqual, Not, Repository } from 'typeorm';
import { Database } from '../database/index.js';
import { type Counts, StoredRun } from './job-run.entity.js';
import { jobStatements } from './jobs.queries.js';

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

/** Table `job_runs`: one row per run of a job. */
@Injectable()
export class JobRuns {
  constructor(
    @InjectRepository(StoredRun) private readonly runs: Repository<StoredRun>,
    private readonly database: Database,
  ) {}

  /**
   * Must be called under the lock of the jobs, so a run without an end can only belong to a process that died. Returns the run's
   * id.
   */
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
