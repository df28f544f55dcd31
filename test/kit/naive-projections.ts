import type { Manifest, NoteState, Summary } from '../../src/domain/checkpoints/projections.js';

/** A change as pull gives it, with its cursor: its place in the log. */
export interface LoggedChange {
  cursor: number;
  encryptedPath: string;
  action: 'upsert' | 'delete';
  version: number;
}

/** The ids of versions by the change that made them. */
export type VersionIds = Map<number, string>;

/** The checkpoint rules as one would write them down, row by row, without a database. */

export function naiveSummary(log: LoggedChange[], fromCursor: number, toCursor: number): Summary {
  const entries = new Map<string, Summary['entries'][number]>();
  for (const change of log) {
    if (change.cursor <= fromCursor || change.cursor > toCursor) continue;
    const { encryptedPath, version } = change;
    const changeCount = (entries.get(encryptedPath)?.changeCount ?? 0) + 1;
    const upserted = lastAt(log, encryptedPath, fromCursor)?.action === 'upsert' ? 'modified' : 'created';
    const action = change.action === 'delete' ? 'deleted' : upserted;
    entries.set(encryptedPath, { encryptedPath, action, changeCount, latestVersion: version });
  }
  return { fromCursor, toCursor, entries: [...entries.values()] };
}

export function naiveManifest(log: LoggedChange[], versions: VersionIds, cursor: number): Manifest {
  const head = log.length;
  const entries: Manifest['entries'] = [];
  for (const encryptedPath of new Set(log.map((change) => change.encryptedPath))) {
    const now = versionAt(log, versions, encryptedPath, head);
    const then = versionAt(log, versions, encryptedPath, cursor);
    if (now === null && then === null) continue;
    const op = then === null ? 'delete' : now === then ? 'noop' : 'restore';
    entries.push({ encryptedPath, op, beforeVersionId: now, afterVersionId: then });
  }
  return { expectedHeadCursor: head, entries };
}

export function naiveNoteState(
  log: LoggedChange[],
  versions: VersionIds,
  cursor: number,
  path: string,
): NoteState {
  const versionId = versionAt(log, versions, path, cursor);
  return versionId === null ? { absent: true } : { versionId };
}

function versionAt(log: LoggedChange[], versions: VersionIds, path: string, cursor: number): string | null {
  const last = lastAt(log, path, cursor);
  return last?.action === 'upsert' ? (versions.get(last.cursor) ?? null) : null;
}

function lastAt(log: LoggedChange[], path: string, cursor: number): LoggedChange | undefined {
  return log.findLast((change) => change.encryptedPath === path && change.cursor <= cursor);
}
