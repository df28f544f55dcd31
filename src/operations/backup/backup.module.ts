import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Doctor } from '../../platform/doctor/index.js';
import { WorkspacesModule } from '../../domain/workspaces/index.js';
import { BackupMetrics } from './backup-metrics.js';
import { BackupPlaces } from './backup-places.js';
import { BackupSchedule } from './backup-schedule.js';
import { BackupTimes } from './backup-times.js';
import { Backups } from './backups.js';
import { BlobFiles } from './blob-files.js';
import { DatabaseIdentityEntity } from './database-identity.entity.js';
import { DatabaseIdentity } from './database-identity.js';
import { Failovers } from './failovers.js';
import { Restores } from './restores.js';
import { TrialCheck } from './trial-check.js';

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
