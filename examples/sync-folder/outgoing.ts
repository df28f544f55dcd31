import { contentHash as sha256, encryptContent, encryptPath } from '../../src/automation/vault-crypto.js';
import { ApiError } from './http.js';
import { isUntouched } from './state.js';
import type { SyncRun } from './sync-run.js';
import { type LocalFile, reasonToSkip } from './walk.js';

const DELETIONS_AT_ONCE = 500;

/** Sends local changes to the server. Files that another device changed meanwhile are left for another round. */
export async function sendLocalChanges(run: SyncRun): Promise<void> {
  const { files, skipped } = await run.device.folder.list();
  run.report.see(files, skipped);
  // Uploads before deletions: a renamed file always exists somewhere.
  await run.forEach('comparing and uploading', files, (file) => sendFile(run, file));
  await sendDeletions(run, new Set(files.map((file) => file.path)));
}

async function sendFile(run: SyncRun, local: LocalFile): Promise<void> {
  const { folder, state } = run.device;
  const known = state.files.get(local.path);
  if (known && isUntouched(local, known)) return;
  try {
    const content = await folder.read(local.path);
    const plainHash = sha256(content);
    if (known?.plainHash === plainHash) run.remember(local, plainHash, known);
    else await upload(run, local, content, known?.contentHash);
  } catch (error) {
    const isTooLarge = error instanceof ApiError && error.status === 413;
    run.report.skip(local.path, isTooLarge ? 'larger than the service accepts' : reasonToSkip(error));
  }
}

async function upload(
  run: SyncRun,
  local: LocalFile,
  content: Buffer,
  base: string | undefined,
): Promise<void> {
  const { api, keys } = run.device;
  const encryptedPath = encryptPath(keys, local.path);
  const envelope = encryptContent(keys, encryptedPath, content);
  const uploaded = await api.upload({ encryptedPath, contentHash: sha256(envelope), envelope, base });
  if (uploaded) {
    run.remember(local, sha256(content), uploaded);
    run.report.uploaded.set(local.path, content.length);
    run.hasSent = true;
  } else {
    // The next round downloads the other version and keeps this one next to it.
    run.overtaken.add(local.path);
  }
}

async function sendDeletions(run: SyncRun, present: Set<string>): Promise<void> {
  const { api, folder, keys, state } = run.device;
  const gone = [];
  for (const [path, { contentHash, version }] of state.files) {
    if (present.has(path) || !(await folder.isGone(path))) continue;
    gone.push({ path, contentHash, version, encryptedPath: encryptPath(keys, path) });
  }
  for (let at = 0; at < gone.length; at += DELETIONS_AT_ONCE) {
    const batch = gone.slice(at, at + DELETIONS_AT_ONCE);
    const conflicts = new Set(await api.pushDeletions(state.cursor ?? 0, batch));
    for (const { path, encryptedPath } of batch) {
      if (conflicts.has(encryptedPath)) {
        run.overtaken.add(path); // edits win over deletions: the next round restores the file
      } else {
        state.files.delete(path);
        run.report.deleted.add(path);
        run.hasSent = true;
      }
    }
  }
}
