import { Injectable } from '@nestjs/common';
import { Configuration } from '../../platform/config/index.js';
import { Metrics, type Reading } from '../../platform/metrics/index.js';
import { BackupTimes } from './backup-times.js';

/** Metrics of scheduled backups, without values where none are scheduled; every instance reports the same ones. */
@Injectable()
export class BackupMetrics {
  constructor({ backupDir }: Configuration, times: BackupTimes, metrics: Metrics) {
    const declare = (name: string, help: string, read: () => Promise<Reading[]>): void =>
      metrics.gauge(`cloud_sync_backup_${name}`, help, [], () =>
        backupDir === undefined ? Promise.resolve([]) : read(),
      );
    declare(
      'last_verified_timestamp_seconds',
      'Start of the last scheduled backup that was verified; absent while there is none',
      async () => {
        const verified = await times.lastVerified();
        return verified ? [{ value: verified.getTime() / 1000 }] : [];
      },
    );
    declare(
      'overdue_seconds',
      'How long the scheduled backup after the last verified one has been missing',
      async () => [{ value: (await times.overdueMs()) / 1000 }],
    );
  }
}
