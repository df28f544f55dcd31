export { BackupModule } from './backup.module.js';
export { Backups } from './backups.js';
export type { Manifest } from './manifest.js';
