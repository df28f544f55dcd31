export { Background } from './background.js';
export { BACKUP_LOCK } from './job-lock.js';
export { type Counts } from './job-run.entity.js';
export { type JobRun, JobRuns, KEPT_RUNS } from './job-runs.js';
export { JobsModule } from './jobs.module.js';
export { NightlyJobs } from './nightly-jobs.js';
export { NightlySchedule, NightlyTimes } from './nightly-schedule.js';
export { TrustedTime } from './trusted-time.js';
