import type { INestApplicationContext } from '@nestjs/common';
import { Configuration, OperatorError } from '../config/index.js';
import { type BlobLocation, BlobMover, BlobPreview } from '../storage/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';
import { withStores } from './with-stores.js';

export const LOCATIONS: readonly BlobLocation[] = ['inline', 'disk', 's3'];

/** Moves all blobs that belong there, beside a running service. @throws OperatorError when there is no such place */
export function moveBlobs(to: BlobLocation): Promise<Report> {
  return withService((service) =>
    withStores(async () => {
      expectPlace(service, to);
      const moved = await service.get(BlobMover).moveAll(to);
      const text = `Moved ${moved.moved} blobs; ${moved.skipped} are for the next run, ${moved.failed} failed`;
      return { to, ...moved, text, ...(moved.failed > 0 && { exitCode: 1 }) };
    }),
  );
}

/** How many that would be. @throws OperatorError when there is no such place */
export function previewMove(to: BlobLocation): Promise<Report> {
  return withService(async (service) => {
    expectPlace(service, to);
    const moved = await service.get(BlobPreview).move(to);
    return { dryRun: true, to, moved, text: `${moved} blobs would be moved` };
  });
}

function expectPlace(service: INestApplicationContext, to: BlobLocation): void {
  const { inlineBlobBytes, hasS3 } = service.get(Configuration);
  if (to === 'inline' && inlineBlobBytes === 0)
    throw new OperatorError('INLINE_BLOB_BYTES is 0: no blob belongs into the database.');
  if (to === 's3' && !hasS3) {
    const names = 'S3_ENDPOINT, S3_ACCESS_KEY, S3_SECRET_KEY and S3_BUCKET';
    throw new OperatorError(`There is no S3 store; set ${names}.`);
  }
}
