import { BlobPreview, BlobUpkeep } from '../storage/index.js';
import { TrustedTime } from '../platform/jobs/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';
import { withStores } from './with-stores.js';

/** Removes what nothing refers to, as the service does every ten minutes. @param now the time to go by */
export function sweepBlobs(now?: Date): Promise<Report> {
  return withService((service) =>
    withStores(async () => {
      const swept = await service.get(BlobUpkeep).sweep(now ?? (await service.get(TrustedTime).now()));
      const { blobs, copies, drafts, stuck } = swept;
      const text = `Removed ${blobs} blobs, ${copies} copies left by moves, ${drafts} unfinished uploads`;
      if (stuck === 0) return { ...swept, text };
      return { ...swept, text: `${text}; ${stuck} could not be removed, try again later`, exitCode: 1 };
    }),
  );
}

/** What it would remove. */
export function previewSweep(now?: Date): Promise<Report> {
  return withService(async (service) => {
    const due = await service.get(BlobPreview).sweep(now ?? (await service.get(TrustedTime).now()));
    const text = `${due.blobs} blobs and ${due.copies} copies left by moves would be removed`;
    return { dryRun: true, ...due, text };
  });
}
