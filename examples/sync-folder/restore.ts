import { contentHash as sha256, decryptContent, decryptPath } from '../../src/automation/vault-crypto.js';
import type { Manifest, ManifestEntry, SyncApi } from './api.js';
import { takeContent, takeDeletion } from './incoming.js';
import type { SyncRun } from './sync-run.js';

const LOOKS = 5;
const DELETIONS_AT_ONCE = 500;

/** The results of a restore, as paths. */
export interface Restored {
  readonly restored: string[];
  readonly deleted: string[];
  /** Changed by another device at the moment of deletion: that edit wins, and the next sync downloads it. */
  readonly kept: string[];
  /** The server no longer has the versions of these files. */
  readonly lost: string[];
  /** Whether another device wrote after the manifest was fetched, so that a fresh one was applied. */
  readonly hasDrifted: boolean;
}

/**
 * Restores server and folder to a checkpoint. The server only reports the differences; this function applies them
 * file by file. Replaced and deleted files stay in the history. After a failure, fetch a new manifest and continue:
 * it contains what is left.
 *
 * @param seen the manifest that the user has confirmed
 */
export async function applyRestore(run: SyncRun, checkpointId: string, seen: Manifest): Promise<Restored> {
  const manifest = await upToDate(run.device.api, checkpointId, seen);
  const hasDrifted = manifest !== seen;
  const done: Restored = { restored: [], deleted: [], kept: [], lost: [], hasDrifted };

  // Deletions first: a file may replace a directory.
  const doomed = manifest.entries.filter(({ op }) => op === 'delete');
  for (let at = 0; at < doomed.length; at += DELETIONS_AT_ONCE) {
    await deleteFiles(run, manifest.expectedHeadCursor, doomed.slice(at, at + DELETIONS_AT_ONCE), done);
  }
  const wanted = manifest.entries.filter(({ op }) => op === 'restore');
  await run.forEach('restoring', wanted, (entry) => restoreFile(run, entry, done));
  return done;
}

/**
 * A manifest that is still valid, checked right before it is applied: the confirmed one unless another device wrote
 * since.
 */
async function upToDate(api: SyncApi, checkpointId: string, seen: Manifest): Promise<Manifest> {
  let latest = seen;
  for (let look = 1; look <= LOOKS; look++) {
    const fresh = await api.restoreManifest(checkpointId);
    if (fresh.expectedHeadCursor === latest.expectedHeadCursor) return latest;
    latest = fresh;
  }
  throw new Error('other devices keep changing files; restore again later');
}

async function deleteFiles(
  run: SyncRun,
  headCursor: number,
  entries: ManifestEntry[],
  done: Restored,
): Promise<void> {
  const { api, keys } = run.device;
  const conflicts = new Set(await api.pushDeletions(headCursor, entries));
  for (const { encryptedPath } of entries) {
    const path = decryptPath(keys, encryptedPath);
    if (conflicts.has(encryptedPath)) {
      done.kept.push(path);
    } else {
      await takeDeletion(run, path);
      done.deleted.push(path);
    }
  }
}

/** The server does not send a restore back to the device that made it, so the device fetches the content itself. */
async function restoreFile(run: SyncRun, entry: ManifestEntry, done: Restored): Promise<void> {
  const { api, keys } = run.device;
  const { encryptedPath, afterVersionId } = entry;
  const path = decryptPath(keys, encryptedPath);
  if (afterVersionId === null) {
    done.lost.push(path);
    return;
  }
  const restored = await api.restore(encryptedPath, afterVersionId);
  const envelope = await api.downloadVersion(encryptedPath, afterVersionId);
  if (sha256(envelope) !== restored.contentHash) throw new Error(`${path} was corrupted in transit`);
  await takeContent(run, path, restored, decryptContent(keys, encryptedPath, envelope));
  done.restored.push(path);
}
