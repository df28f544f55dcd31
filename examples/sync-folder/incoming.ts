import { contentHash as sha256, decryptContent } from '../../src/automation/vault-crypto.js';
import type { RemoteChange, RemoteFile } from './api.js';
import { fetchChanges } from './remote-changes.js';
import type { SyncRun } from './sync-run.js';

/** Applies other devices' changes to the folder. A file that was edited in both places is kept twice. */
export async function takeRemoteChanges(run: SyncRun): Promise<void> {
  const { api, keys, state } = run.device;
  const { changes, cursor, isEverything } = await fetchChanges(api, keys, state.cursor);
  // A cursor that moved backwards means that the server was restored from a backup. The folders still have what it
  // lost, which must not be deleted there.
  if (cursor < (state.cursor ?? 0)) state.files.clear();

  const deleted = isEverything
    ? [...state.files.keys()].filter((path) => changes.get(path)?.action !== 'upsert')
    : [...changes.keys()].filter((path) => changes.get(path)?.action === 'delete');
  // This device's own uploads also come back here, with the hash that is already known.
  const written = [...changes].filter(
    ([path, change]) =>
      change.action === 'upsert' && state.files.get(path)?.contentHash !== change.contentHash,
  );

  // Deletions first: a directory may replace a file.
  for (const path of deleted) await takeDeletion(run, path);
  await run.forEach('downloading', written, ([path, change]) => takeFile(run, path, change));
  state.cursor = cursor; // only now: changes that are not in the folder yet must be fetched again
}

/** Removes a file that no longer exists on the server. */
export async function takeDeletion(run: SyncRun, path: string): Promise<void> {
  const { folder, state } = run.device;
  const known = state.files.get(path);
  if (!known) return;
  const local = await folder.look(path);
  if (local && (await run.isAsKnown(local, known))) {
    await folder.remove(path);
    run.report.removed.add(path);
  }
  // A file that was edited here stays and counts as new from now on: edits win over deletions.
  state.files.delete(path);
}

async function takeFile(run: SyncRun, path: string, change: RemoteChange): Promise<void> {
  const content = await download(run, path, change);
  if (content) await takeContent(run, path, change, content);
}

/** Writes the server's content and remembers it, so that it is not uploaded again. */
export async function takeContent(
  run: SyncRun,
  path: string,
  remote: RemoteFile,
  content: Buffer,
): Promise<void> {
  const draft = await run.device.folder.stage(content);
  await run.exclusively(() => putInPlace(run, path, remote, content, draft));
}

/** Checks the folder only now: the file may have been edited during the download. */
async function putInPlace(
  run: SyncRun,
  path: string,
  remote: RemoteFile,
  content: Buffer,
  draft: string,
): Promise<void> {
  const { folder, name, state } = run.device;
  const known = state.files.get(path);
  const local = await folder.look(path);
  const isEdited = local && !(known && (await run.isAsKnown(local, known)));
  if (isEdited && content.equals(await folder.read(path))) {
    // Not a conflict: an upload was not recorded before a crash, or the state was lost.
    await folder.discard(draft);
    run.remember(local, sha256(content), remote);
    return;
  }
  const inTheWay = isEdited ? path : await folder.obstacleTo(path);
  if (inTheWay !== undefined) {
    run.report.conflicts.push(await folder.moveAside(inTheWay, `conflict from ${name}`));
  }
  run.remember(await folder.place(draft, path), sha256(content), remote);
  run.report.downloaded.set(path, content.length);
}

/** The verified content; undefined when it was replaced or deleted since, which the next pull will report. */
async function download(run: SyncRun, path: string, change: RemoteChange): Promise<Buffer | undefined> {
  const { api, keys } = run.device;
  const answer = await api.download(change.encryptedPath);
  const hash = answer && sha256(answer.envelope);
  if (answer && hash === change.contentHash) {
    return decryptContent(keys, change.encryptedPath, answer.envelope);
  }
  if (answer && hash !== answer.statedHash) throw new Error(`${path} was corrupted in transit`);
  run.overtaken.add(path);
  return undefined;
}
