import { Global, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Configuration } from '../config/index.js';
import { JobMetrics, JobRuns, StoredRun } from './job-runs.js';
import { JobLock, NightlyJobs, NightlySchedule, NightlyTimes } from './nightly-jobs.js';
import { Background, StoredTime, TrustedTime } from './trusted-time.js';

export { Background, TrustedTime } from './trusted-time.js';
export { BACKUP_LOCK, NightlyJobs, NightlySchedule, NightlyTimes } from './nightly-jobs.js';
export { type Counts, type JobRun, JobRuns, KEPT_RUNS } from './job-runs.js';

@Global()
@Module({
  imports: [TypeOrmModule.forFeature([StoredRun, StoredTime])],
  providers: [
    JobLock,
    JobMetrics,
    JobRuns,
    NightlyJobs,
    NightlySchedule,
    TrustedTime,
    {
      provide: NightlyTimes,
      inject: [Configuration],
      useFactory: ({ retentionCron }: Configuration) => new NightlyTimes(retentionCron),
    },
  ],
  exports: [JobRuns, NightlyJobs, NightlySchedule, TrustedTime],
})
export class JobsModule implements OnApplicationBootstrap {
  constructor(
    private readonly background: Background,
    private readonly schedule: NightlySchedule,
  ) {}

  onApplicationBootstrap(): void {
    if (this.background.isOn) this.schedule.begin();
  }
}
