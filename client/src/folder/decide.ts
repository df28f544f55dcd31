import type { Operation } from './operations.js';
import { isSameStat } from './stamps.js';
import type { LocalFile, RemoteEntry, SyncedEntry } from './trees.js';

/** Why a path is not synced. `told`: the user should see the path; false when a rule of the user excludes it. */
export interface LeftOut {
  readonly reason: string;
  readonly told: boolean;
}

/** Whether the local content is the synced one, as far as the scan knows. When in doubt, the file counts as changed. */
export function isAsSynced(local: LocalFile, synced: SyncedEntry): boolean {
  if (local.stat.size !== synced.size) return false;
  if (synced.stat && isSameStat(local.stat, synced.stat)) return true;
  return local.hash === synced.plainHash;
}

/** Decides what to do about a path from its three states alone. undefined: nothing. */
export function decide(
  path: string,
  local: LocalFile | undefined,
  remote: RemoteEntry | undefined,
  synced: SyncedEntry | undefined,
): Operation | undefined {
  if (local && remote) return decideBoth(path, local, remote, synced);
  if (local) {
    // Edits win over deletions: anything but the synced content is uploaded again.
    return synced && isAsSynced(local, synced)
      ? { kind: 'delete-local', path, local, synced }
      : { kind: 'upload', path, local, base: undefined };
  }
  if (remote) {
    // A version that this device has not seen is not deleted, even if its content is known.
    const isSeen = synced?.contentHash === remote.contentHash && synced.version === remote.version;
    return isSeen
      ? { kind: 'delete-remote', path, remote }
      : { kind: 'download', path, remote, replaces: undefined };
  }
  return synced && { kind: 'forget', path };
}

function decideBoth(
  path: string,
  local: LocalFile,
  remote: RemoteEntry,
  synced: SyncedEntry | undefined,
): Operation | undefined {
  if (!synced) return { kind: 'merge', path, local, remote };
  const isChangedThere = synced.contentHash !== remote.contentHash;
  const isChangedHere = !isAsSynced(local, synced);
  if (isChangedHere && isChangedThere) return { kind: 'merge', path, local, remote };
  if (isChangedHere) return { kind: 'upload', path, local, base: remote.contentHash };
  if (isChangedThere) return { kind: 'download', path, remote, replaces: local };
  if (synced.version === remote.version) return undefined;
  return { kind: 'adopt', path, entry: { ...synced, version: remote.version } };
}
