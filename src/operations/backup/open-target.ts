import { type Configuration, isInS3, OperatorError } from '../../platform/config/index.js';
import { BackupBucket } from './backup-bucket.js';
import { BackupDirectory } from './backup-directory.js';
import type { BackupTarget } from './backup-target.js';
import { objectsAt } from './objects-at.js';

/** The place of scheduled backups. @throws OperatorError when they are off */
export async function backupTarget({
  backupDir,
  backupStore,
  dataDir,
}: Configuration): Promise<BackupTarget> {
  if (backupDir === undefined)
    throw new OperatorError(
      'Scheduled backups are off: set BACKUP_DIR to a directory or to s3://bucket/prefix for them.',
    );
  if (!isInS3(backupDir)) return new BackupDirectory(backupDir);
  return new BackupBucket(backupDir, await objectsAt(backupDir, backupStore), dataDir);
}
