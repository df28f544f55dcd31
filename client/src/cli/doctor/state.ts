import { stat } from 'node:fs/promises';
import { FolderState, Lock, NodeDisk } from '../../folder/index.js';
import { JournalCopy } from '../preview.js';
import { credentialsFile, keyFile, type SyncedFolder } from '../synced-folder.js';
import { failed, type Finding, ok, warning } from './check.js';

/** Only the owner may read the credentials and the key. */
export async function checkPrivacy({ state }: SyncedFolder): Promise<Finding> {
  const open: string[] = [];
  for (const path of [state, credentialsFile(state), keyFile(state)]) {
    const found = await stat(path).catch(() => undefined);
    if (found && (found.mode & 0o077) !== 0) open.push(path);
  }
  return open.length === 0
    ? ok('privacy', `${state} is readable by its owner alone`)
    : failed('privacy', `others can read ${open.join(', ')}: run chmod go= on each`);
}

export async function checkLock({ lock }: SyncedFolder): Promise<Finding> {
  const holder = await Lock.holder(lock);
  return ok('lock', holder === undefined ? 'no client runs' : `process ${holder} syncs this folder`);
}

export async function checkJournal({ journal }: SyncedFolder): Promise<[Finding, FolderState]> {
  const copy = await JournalCopy.of(journal);
  const state = await FolderState.open(copy);
  const files = `${state.synced.size} files in sync`;
  const finding = copy.wasCut
    ? warning(
        'journal',
        `${files}; its end is not whole, as after a loss of power: the next sync compares by content`,
      )
    : ok('journal', files);
  return [finding, state];
}

/** The marker ties the folder to its journal. */
export async function checkMarker({ root }: SyncedFolder, { identity }: FolderState): Promise<Finding> {
  const text = await new NodeDisk(root).readMarker();
  if (text === undefined)
    return failed('marker', `${root} has no .cloud-sync/folder.json, as when a disk is not mounted`);
  const marker = JSON.parse(text) as { readonly folder?: unknown; readonly stamp?: unknown } | null;
  if (identity === undefined) return ok('marker', 'the folder has one; nothing was synced yet');
  if (marker?.folder !== identity.folder)
    return failed(
      'marker',
      'this is another folder than the one that was synced here: `cloud-sync sign-out --forget`, then `init`, merge it',
    );
  return marker.stamp === identity.stamp || marker.stamp === identity.next
    ? ok('marker', 'folder and journal belong together')
    : warning('marker', 'folder or journal come from a backup or a copy: the next sync compares by content');
}
