import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { WorkspacesModule } from '../../domain/workspaces/index.js';
import { Doctor } from '../../platform/doctor.js';
import { BackupPlaces } from './backup-places.js';
import { BackupMetrics, BackupSchedule, BackupTimes } from './backup-schedule.js';
import { Backups } from './backups.js';
import { BlobFiles } from './blob-files.js';
import { DatabaseIdentity, DatabaseIdentityEntity } from './database-identity.js';
import { Failovers } from './failovers.js';
import { Restores } from './restores.js';
import { TrialCheck } from './trial-database.js';

export { BackupDirectory, placeOf } from './backup-directory.js';
export { BackupPlaces } from './backup-places.js';
export type { BackupTarget, ListedBackup, Names } from './backup-target.js';
export { Backups, withTarget } from './backups.js';
export { BACKUP_JOB, BackupTimes } from './backup-schedule.js';
export { type FailoverRequest, Failovers, type HandledFailover } from './failovers.js';
export { cursorGap, type RestoreOptions, Restores } from './restores.js';
export { onTrialDatabase } from './trial-database.js';
export type { Manifest } from './backup-parts.js';

@Module({
  imports: [WorkspacesModule, TypeOrmModule.forFeature([DatabaseIdentityEntity])],
  providers: [
    Backups,
    BackupMetrics,
    BackupPlaces,
    BackupSchedule,
    BackupTimes,
    BlobFiles,
    DatabaseIdentity,
    Failovers,
    Restores,
    TrialCheck,
  ],
  exports: [Backups, BackupPlaces, BackupTimes, Failovers, Restores, TrialCheck],
})
export class BackupModule {
  constructor(doctor: Doctor, check: TrialCheck) {
    doctor.addCheck(() => check.privilege());
    doctor.addCheck(() => check.place());
  }
}
