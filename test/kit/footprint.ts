import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestService } from './service.js';

/** Everything that a workspace has in the database and on disk, counted without the service. */
export interface Footprint {
  readonly workspaces: number;
  readonly files: number;
  readonly versions: number;
  readonly changes: number;
  readonly blobs: number;
  /** Sizes of its blob files, including temporary ones, ascending. */
  readonly onDisk: number[];
}

export const NOTHING: Footprint = { workspaces: 0, files: 0, versions: 0, changes: 0, blobs: 0, onDisk: [] };

export async function footprint({ database, dataDir }: TestService, workspaceId: string): Promise<Footprint> {
  const [rows] = await database.query<Omit<Footprint, 'onDisk'>>(
    `SELECT (SELECT count(*)::int FROM workspaces WHERE id = $1) AS workspaces,
            (SELECT count(*)::int FROM files WHERE workspace_id = $1) AS files,
            (SELECT count(*)::int FROM versions WHERE workspace_id = $1) AS versions,
            (SELECT count(*)::int FROM changes WHERE workspace_id = $1) AS changes,
            (SELECT count(*)::int FROM blobs WHERE workspace_id = $1) AS blobs`,
    [workspaceId],
  );
  return { ...rows!, onDisk: await filesUnder(join(dataDir, 'blobs', workspaceId)) };
}

async function filesUnder(directory: string): Promise<number[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const sizes = await Promise.all(paths.map(async (path) => (await stat(path)).size));
  return sizes.sort((a, b) => a - b);
}
