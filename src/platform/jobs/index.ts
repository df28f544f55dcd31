export { Background } from './background.js';
export { type Counts, type JobRun, JobRuns } from './job-runs.js';
export { JobsModule } from './jobs.module.js';
export { NightlyJobs } from './nightly-jobs.js';
export { NightlySchedule } from './nightly-schedule.js';
export { TrustedTime } from './trusted-time.js';
