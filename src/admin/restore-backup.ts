import { resolve } from 'node:path';
import { Backups } from '../backup/index.js';
import { contentsOf, summaryOf } from './create-backup.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';
import { withStores } from './with-stores.js';

/** Fills an empty database and store. When it fails, nothing has been restored. */
export function restoreBackup(directory: string): Promise<Report> {
  return withService((service) =>
    withStores(async () => {
      const manifest = await service.get(Backups).restore(resolve(directory));
      const text = `Restored ${contentsOf(manifest)}, as of ${manifest.takenAt}`;
      return { ...summaryOf(manifest), text };
    }),
  );
}

/** What it would restore, where it would. */
export function previewRestore(directory: string): Promise<Report> {
  return withService(async (service) => {
    const manifest = await service.get(Backups).preview(resolve(directory));
    const text = `${contentsOf(manifest)}, as of ${manifest.takenAt}, would be restored`;
    return { dryRun: true, ...summaryOf(manifest), text };
  });
}
