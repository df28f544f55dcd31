export { retentionCounts, type RetentionReport, type ThinnedWorkspace } from './retention-report.js';
export { Retention, type RetentionOptions } from './retention.service.js';
export { RetentionModule } from './retention.module.js';
