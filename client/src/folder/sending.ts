import { contentOf, type Looked, sha256 } from './contents.js';
import type { Operation } from './operations.js';
import type { Upload, Uploaded } from './ports.js';
import type { Run } from './run.js';
import { isProof } from './stamps.js';
import type { SyncedEntry } from './trees.js';

export type UploadOperation = Extract<Operation, { kind: 'upload' }>;

export interface Ready {
  readonly operation: UploadOperation;
  readonly looked: Looked;
  readonly upload: Upload;
}

/** Reads and encrypts a file. @returns undefined when it turns out to have the synced content */
export async function prepared(run: Run, operation: UploadOperation): Promise<Ready | undefined> {
  const { disk, clock, cipher } = run.parts;
  const { path, local } = operation;
  run.options.onProgress?.({ doing: 'upload', path });
  const { content, ...looked } = await contentOf(disk, clock, local.diskPath, local.stat);
  if (isSynced(run, operation, looked)) return undefined;
  const encryptedPath = await cipher.encryptPath(path);
  const envelope = await cipher.encryptContent(encryptedPath, content);
  return recorded(run, operation, looked, { encryptedPath, contentHash: sha256(envelope), envelope });
}

/** Whether the file turns out to have the content that the server has. */
export function isSynced({ state }: Run, { path, base }: UploadOperation, looked: Looked): boolean {
  const synced = state.synced.get(path);
  if (base === undefined || synced?.contentHash !== base || synced.plainHash !== looked.hash) return false;
  state.setSynced(path, { ...synced, ...seen(looked) });
  return true;
}

export function recorded(
  run: Run,
  operation: UploadOperation,
  looked: Looked,
  upload: Omit<Upload, 'base'>,
): Ready {
  const { path, base } = operation;
  run.state.add({ t: 'sent', path, plain: looked.hash, hash: upload.contentHash, size: looked.stat.size });
  return { operation, looked, upload: { ...upload, base } };
}

/** Uploads prepared contents, and records the results. */
export async function send(run: Run, ready: Map<string, Ready>): Promise<void> {
  await run.state.write(); // a lost answer can be recognised even after a kill
  const unanswered = new Set(ready.keys());
  const uploads = Array.from(ready.values(), ({ upload }) => upload);
  run.hasActed = true;
  try {
    for await (const answer of run.parts.remote.uploadMany(uploads)) {
      const item = ready.get(answer.encryptedPath);
      if (!item || !unanswered.delete(answer.encryptedPath)) continue;
      take(run, item, answer);
    }
  } finally {
    for (const encryptedPath of unanswered) {
      const item = ready.get(encryptedPath);
      if (item) run.overtaken.add(item.operation.path);
    }
    await run.settle();
  }
}

function take(run: Run, { operation, looked, upload }: Ready, answer: Uploaded): void {
  const { path } = operation;
  if (answer.status === 'refused') run.fail(operation, answer.reason);
  else if (answer.status === 'overtaken' || answer.contentHash !== upload.contentHash)
    run.overtaken.add(path);
  else {
    const { contentHash, version } = answer;
    run.state.setSynced(path, {
      plainHash: looked.hash,
      contentHash,
      version,
      ...seen(looked),
      isAhead: true,
    });
    run.report.uploaded.add(path);
  }
}

export const seen = ({ stat, lookedAt }: Looked): Pick<SyncedEntry, 'size' | 'stat'> => ({
  size: stat.size,
  stat: isProof(stat, lookedAt) ? stat : undefined,
});
