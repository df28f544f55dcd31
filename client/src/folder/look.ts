import { hashOf } from './contents.js';
import { DiskError } from './errors.js';
import type { Parts } from './run.js';
import { isProof, isSameStat } from './stamps.js';
import type { FolderState } from './state.js';
import type { LocalFile, LocalTree, SyncedEntry } from './trees.js';

/** Reads the files whose metadata do not show whether they were edited, and stores the metadata of the unchanged ones. */
export async function lookClosely(parts: Parts, state: FolderState, local: LocalTree): Promise<LocalTree> {
  const files = new Map(local.files);
  const heldBack = new Map(local.heldBack);
  for (const [path, file] of local.files) {
    const synced = state.synced.get(path);
    if (!synced || !isOpen(file, synced)) continue;
    try {
      const { hash, lookedAt } = await hashOf(parts.disk, parts.clock, file.diskPath, file.stat);
      files.set(path, { ...file, hash });
      if (hash === synced.plainHash && isProof(file.stat, lookedAt))
        state.setSynced(path, { ...synced, stat: file.stat });
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      if (error.failure === 'changed' || error.failure === 'absent') continue; // counts as edited: checked again later
      files.delete(path);
      heldBack.set(path, `cannot be read: ${error.message}`);
    }
  }
  return { ...local, files, heldBack, directories: local.directories, unreadable: local.unreadable };
}

const isOpen = (file: LocalFile, synced: SyncedEntry): boolean =>
  file.stat.size === synced.size && !(synced.stat && isSameStat(file.stat, synced.stat));

/**
 * If the log has the hash of an upload whose answer was lost, it has arrived: later local edits are based on it, and are no
 * conflict.
 */
export function recogniseSent(state: FolderState): void {
  for (const [path, attempts] of state.sent) {
    const remote = state.remote.get(path);
    const arrived = attempts.find(({ contentHash }) => contentHash === remote?.contentHash);
    if (!remote || !arrived) continue;
    const { plainHash, contentHash, size } = arrived;
    state.setSynced(path, { plainHash, contentHash, version: remote.version, size, stat: undefined });
  }
}
