export { BackupDirectory, type BackupState, type ListedBackup } from './backup-directory.js';
export { BackupModule } from './backup.module.js';
export { BACKUP_JOB, BackupTimes } from './backup-times.js';
export { Backups } from './backups.js';
export { type FailoverRequest, Failovers, type HandledFailover } from './failovers.js';
export { cursorGap } from './cursor-gap.js';
export { Restores } from './restores.js';
export { onTrialDatabase } from './trial-database.js';
export type { Manifest } from './manifest.js';
