import { resolve } from 'node:path';
import { Backups, type Manifest } from '../backup/index.js';
import type { Report } from './report.js';
import { withService } from './with-service.js';
import { withStores } from './with-stores.js';

/** Backs up database and blobs into an empty directory, beside a running service. Fails when blobs had no bytes to save. */
export function createBackup(directory: string): Promise<Report> {
  const path = resolve(directory);
  return withService((service) =>
    withStores(async () => {
      const manifest = await service.get(Backups).create(path);
      const { damaged } = manifest;
      const text = `Backed up ${contentsOf(manifest)} to ${path}`;
      const fields = { directory: path, ...summaryOf(manifest), damaged };
      if (damaged.length === 0) return { ...fields, text };
      const lost = `${damaged.length} blobs had lost their bytes before: ${damaged.slice(0, 10).join(', ')}`;
      return { ...fields, text: `${text}\n${lost}`, exitCode: 1 };
    }),
  );
}

/** For people. */
export function contentsOf({ tables, blobs }: Manifest): string {
  const rows = (name: string): number => tables.find((table) => table.name === name)?.rows ?? 0;
  return `${rows('users')} accounts, ${rows('workspaces')} workspaces, ${rows('versions')} versions, ${blobs.count} large blobs`;
}

/** For programs. */
export function summaryOf({ takenAt, version, tables, blobs, gone }: Manifest): Record<string, unknown> {
  const rows = Object.fromEntries(tables.map((table) => [table.name, table.rows]));
  return { takenAt, version, rows, blobs, gone: gone.length };
}
