import { bySize, inBatches } from './batches.js';
import { sha256 } from './contents.js';
import { DoesNotOpen } from './errors.js';
import { fetchStreamed } from './large-downloads.js';
import { doesNotOpen, type Fetching, take } from './placing.js';
import type { Download } from './ports.js';
import type { Run } from './run.js';

/** Downloads contents from the server and puts them into the folder. */
export async function fetchFiles(run: Run, operations: readonly Fetching[]): Promise<void> {
  const sizeOf = ({ remote }: Fetching): number => remote.encryptedSize;
  const { small, large } = bySize(operations, sizeOf, run.options.streamAbove);
  for (const batch of inBatches(small, sizeOf)) {
    const wanted = new Map<string, Fetching>();
    for (const operation of batch) {
      tell(run, operation);
      wanted.set(await run.parts.cipher.encryptPath(operation.path), operation);
    }
    try {
      await fetchBatch(run, wanted);
    } finally {
      for (const { path } of wanted.values()) run.overtaken.add(path);
      await run.settle();
    }
  }
  for (const operation of large) {
    tell(run, operation);
    await run.attempt(operation, () => fetchStreamed(run, operation));
    await run.settle();
  }
}

function tell({ options }: Run, { kind, path }: Fetching): void {
  options.onProgress?.({ doing: kind === 'merge' ? 'compare' : 'download', path });
}

/** Removes answered items from `wanted`. */
async function fetchBatch(run: Run, wanted: Map<string, Fetching>): Promise<void> {
  const items = Array.from(wanted, ([encryptedPath, { remote }]) => ({
    encryptedPath,
    contentHash: remote.contentHash,
    encryptedSize: remote.encryptedSize,
  }));
  for await (const answer of run.parts.remote.downloadMany(items)) {
    const operation = wanted.get(answer.encryptedPath);
    if (!operation) continue;
    wanted.delete(answer.encryptedPath);
    const content = await opened(run, operation, answer);
    if (!content) continue;
    const stage = (): Promise<string> => run.parts.disk.stage(content);
    await run.attempt(operation, () => take(run, operation, { plainHash: sha256(content), stage }));
  }
}

/** The plaintext, if it is the content that the plan saw. */
async function opened(run: Run, operation: Fetching, answer: Download): Promise<Uint8Array | undefined> {
  const { path, remote } = operation;
  if (answer.status === 'missing') {
    run.fail(operation, answer.reason); // may have been deleted since: then the next round does not fetch it
    run.overtaken.add(path);
    return undefined;
  }
  const hash = sha256(answer.envelope);
  if (hash !== remote.contentHash) {
    if (hash === answer.contentHash) run.overtaken.add(path);
    else
      run.fail(operation, 'the server sent something else than it says: it is asked again in the next sync');
    return undefined;
  }
  try {
    return await run.parts.cipher.decryptContent(answer.encryptedPath, answer.envelope);
  } catch (error) {
    if (!(error instanceof DoesNotOpen)) throw error;
    run.fail(operation, doesNotOpen(error));
    return undefined;
  }
}
