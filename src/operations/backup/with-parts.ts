import { resolve } from 'node:path';
import { type Configuration, isInS3 } from '../../platform/config/index.js';
import type { BackupParts } from './backup-parts.js';
import { BucketParts } from './bucket-parts.js';
import { DirectoryParts } from './directory-parts.js';
import { objectsAt } from './objects-at.js';

/** A place as an argument names it: an absolute path, or as it is in S3. */
export const placeOf = (argument: string): string => (isInS3(argument) ? argument : resolve(argument));

/** Lends `work` the backup at a place, which is a directory or `s3://bucket/prefix`. @throws OperatorError for a malformed one */
export async function withParts<T>(
  place: string,
  { backupStore }: Configuration,
  work: (parts: BackupParts) => Promise<T>,
): Promise<T> {
  const parts = isInS3(place)
    ? new BucketParts(place, await objectsAt(place, backupStore))
    : new DirectoryParts(place);
  try {
    return await work(parts);
  } finally {
    parts.close();
  }
}
