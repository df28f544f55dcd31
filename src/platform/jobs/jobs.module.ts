import { type DynamicModule, Global, Module } from '@nestjs/common';
import { JobLock } from './job-lock.js';
import { JobRuns } from './job-runs.js';
import { NightlyJobs } from './nightly-jobs.js';
import { NightlySchedule, NightlyTimes } from './nightly-schedule.js';

@Global()
@Module({})
export class JobsModule {
  /** @throws StartupError when the cron expression is none */
  static with(expression: string): DynamicModule {
    return {
      module: JobsModule,
      providers: [
        JobLock,
        JobRuns,
        NightlyJobs,
        NightlySchedule,
        { provide: NightlyTimes, useValue: new NightlyTimes(expression) },
      ],
      exports: [JobRuns, NightlyJobs, NightlySchedule],
    };
  }
}
