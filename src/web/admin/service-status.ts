import { Injectable } from '@nestjs/common';
import { VERSION } from '../../platform/config/index.js';
import { type Readiness, ReadinessCheck } from '../../platform/readiness/index.js';
import { Database } from '../../platform/database/index.js';
import { type JobRun, JobRuns } from '../../platform/jobs/index.js';
import { type Mode, KillSwitch } from '../../platform/kill-switch/index.js';
import { Queues } from '../../platform/limits/index.js';
import { adminPagesStatements } from './admin-pages.queries.js';

const RUNS = 60;

export interface ServiceStatus {
  readonly version: string;
  /** Of the instance that answers. */
  readonly readiness: Readiness;
  /** How many instances are running. */
  readonly instances: number;
  /** Calls that wait on this instance, by queue. */
  readonly queues: ReadonlyMap<string, number>;
  readonly mode: Mode;
  /** The last runs of the nightly jobs, newest first. */
  readonly jobs: readonly JobRun[];
}

/** What an administrator sees of the service itself. */
@Injectable()
export class ServiceStatusOverview {
  constructor(
    private readonly readiness: ReadinessCheck,
    private readonly queues: Queues,
    private readonly killSwitch: KillSwitch,
    private readonly jobRuns: JobRuns,
    private readonly database: Database,
  ) {}

  async now(): Promise<ServiceStatus> {
    const [running] = await this.database.run<{ instances: number }>(adminPagesStatements.instances, []);
    return {
      version: VERSION,
      readiness: await this.readiness.look(),
      instances: running?.instances ?? 0,
      queues: this.queues.counts(),
      mode: this.killSwitch.mode,
      jobs: await this.jobRuns.recent(RUNS),
    };
  }
}
