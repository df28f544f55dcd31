import { type Configuration, isInS3 } from '../../platform/config/index.js';
import { BucketMark } from './bucket-mark.js';
import { DirectoryMark } from './directory-mark.js';
import { objectsAt } from './objects-at.js';
import type { PlaceMark } from './place-mark.js';

/** Lends `work` the mark of a place, which is a directory or `s3://bucket/prefix`. */
export async function withMark<T>(
  place: string,
  { backupStore }: Configuration,
  work: (mark: PlaceMark) => Promise<T>,
): Promise<T> {
  if (!isInS3(place)) return work(new DirectoryMark(place));
  const objects = await objectsAt(place, backupStore);
  try {
    return await work(new BucketMark(place, objects));
  } finally {
    objects.close();
  }
}
