import { type DynamicModule, Global, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { JobMetrics, JobRuns, StoredRun } from './job-runs.js';
import { JobLock, NightlyJobs, NightlySchedule, NightlyTimes } from './nightly-jobs.js';
import { Background, StoredTime, TrustedTime } from './trusted-time.js';

export { Background, TrustedTime } from './trusted-time.js';
export { BACKUP_LOCK, NightlyJobs, NightlySchedule, NightlyTimes } from './nightly-jobs.js';
export { type Counts, type JobRun, JobRuns, KEPT_RUNS } from './job-runs.js';

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
