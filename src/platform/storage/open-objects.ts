import type { BackupStore, S3Address } from '../config/index.js';
import type { S3Objects } from './s3/s3-objects.js';

/** Objects of no database, below a prefix of a bucket. Nothing is asked of the store yet. */
export async function openObjects(store: BackupStore, address: S3Address): Promise<S3Objects> {
  // Loaded only if needed: the S3 client is 30 MB.
  const { S3Objects } = await import('./s3/index.js');
  return S3Objects.at(store, address);
}
