import { Injectable } from '@nestjs/common';
import { Database } from '../database/index.js';
import { Metrics, type Reading } from '../metrics/index.js';
import { jobStatements } from './jobs.queries.js';

interface LastRun {
  readonly name: string;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  readonly isGood: boolean;
}

const seconds = (time: Date): number => time.getTime() / 1000;

/** Metrics of the last run of each job; every instance reports the same values. */
@Injectable()
export class JobMetrics {
  private reading: Promise<LastRun[]> | undefined;

  constructor(
    private readonly database: Database,
    private readonly metrics: Metrics,
  ) {
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

  /** Concurrent readers share one statement. */
  private read(): Promise<LastRun[]> {
    this.reading ??= this.database
      .run<LastRun>(jobStatements.lastOfEach, [])
      .finally(() => (this.reading = undefined));
    return this.reading;
  }
}
