import { type DynamicModule, Global, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Background } from './background.js';
import { JobLock } from './job-lock.js';
import { JobMetrics } from './job-metrics.js';
import { StoredRun } from './job-run.entity.js';
import { JobRuns } from './job-runs.js';
import { NightlyJobs } from './nightly-jobs.js';
import { NightlySchedule, NightlyTimes } from './nightly-schedule.js';
import { StoredTime } from './trusted-time.entity.js';
import { TrustedTime } from './trusted-time.js';

@Global()
@Module({})
export class JobsModule implements OnApplicationBootstrap {
  constructor(
    private readonly background: Background,
    private readonly schedule: NightlySchedule,
  ) {}

  static with(expression: string, background: Background): DynamicModule {
    return {
      module: JobsModule,
      imports: [TypeOrmModule.forFeature([StoredRun, StoredTime])],
      providers: [
        JobLock,
        JobMetrics,
        JobRuns,
        NightlyJobs,
        NightlySchedule,
        TrustedTime,
        { provide: Background, useValue: background },
        { provide: NightlyTimes, useValue: new NightlyTimes(expression) },
      ],
      exports: [Background, JobRuns, NightlyJobs, NightlySchedule, TrustedTime],
    };
  }

  onApplicationBootstrap(): void {
    if (this.background.isOn) this.schedule.begin();
  }
}
