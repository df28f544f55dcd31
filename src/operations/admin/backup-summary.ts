import type { Manifest } from '../backup/index.js';

/** A summary for people. */
export function contentsOf({ tables, blobs }: Manifest): string {
  const rows = (name: string): number => tables.find((table) => table.name === name)?.rows ?? 0;
  return `${rows('users')} accounts, ${rows('workspaces')} workspaces, ${rows('versions')} versions, ${blobs.count} large blobs`;
}

/** A summary for programs. */
export function summaryOf({ takenAt, version, tables, blobs, gone }: Manifest): Record<string, unknown> {
  const rows = Object.fromEntries(tables.map((table) => [table.name, table.rows]));
  return { takenAt, version, rows, blobs, gone: gone.length };
}
