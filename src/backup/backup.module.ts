import { Module } from '@nestjs/common';
import { Doctor } from '../platform/doctor/index.js';
import { WorkspacesModule } from '../workspaces/index.js';
import { BackupMetrics } from './backup-metrics.js';
import { BackupSchedule } from './backup-schedule.js';
import { BackupTimes } from './backup-times.js';
import { Backups } from './backups.js';
import { BlobFiles } from './blob-files.js';
import { Failovers } from './failovers.js';
import { Restores } from './restores.js';
import { TrialCheck } from './trial-check.js';

@Module({
  imports: [WorkspacesModule],
  providers: [
    Backups,
    BackupMetrics,
    BackupSchedule,
    BackupTimes,
    BlobFiles,
    Failovers,
    Restores,
    TrialCheck,
  ],
  exports: [Backups, BackupTimes, Failovers, Restores, TrialCheck],
})
export class BackupModule {
  constructor(doctor: Doctor, check: TrialCheck) {
    doctor.addCheck(() => check.privilege());
    doctor.addCheck(() => check.place());
  }
}
