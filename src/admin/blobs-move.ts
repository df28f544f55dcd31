import { Configuration, StartupError } from '../config/index.js';
import { type BlobLocation, BlobMover } from '../platform/blobs/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';
import { withStores } from './with-stores.js';

export const LOCATIONS: readonly BlobLocation[] = ['inline', 'disk', 's3'];

/** Moves all blobs that belong there, beside a running service. @throws StartupError when there is no such place */
export function moveBlobs(to: BlobLocation): Promise<Report> {
  return withService((service) =>
    withStores(async () => {
      if (to === 'inline' && service.get(Configuration).inlineBlobBytes === 0) {
        throw new StartupError('INLINE_BLOB_BYTES is 0: no blob belongs into the database.');
      }
      const moved = await service.get(BlobMover).moveAll(to);
      const text = `Moved ${moved.moved} blobs; ${moved.skipped} are for the next run, ${moved.failed} failed`;
      return { to, ...moved, text, ...(moved.failed > 0 && { exitCode: 1 }) };
    }),
  );
}
