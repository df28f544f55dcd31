import { type BackupStore, OperatorError, s3Address } from '../../platform/config/index.js';
import { openObjects, type S3Objects } from '../../platform/storage/index.js';

/** What is at `s3://bucket/prefix`. @throws OperatorError for a malformed place, and where no store is configured */
export async function objectsAt(place: string, store: BackupStore | undefined): Promise<S3Objects> {
  const address = s3Address(place);
  if (!address)
    throw new OperatorError(
      `${place} must be s3://bucket/prefix, as BACKUP_DIR or the name of a backup in it.`,
    );
  if (!store)
    throw new OperatorError(
      'There is no S3 store; set BACKUP_S3_ENDPOINT, BACKUP_S3_ACCESS_KEY and BACKUP_S3_SECRET_KEY.',
    );
  return openObjects(store, address);
}
