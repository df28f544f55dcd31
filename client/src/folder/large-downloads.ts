import { createHash } from 'node:crypto';
import { checkRoom, hashedInto } from './contents.js';
import { DoesNotOpen, TransferFailed } from './errors.js';
import { doesNotOpen, type Fetching, take } from './placing.js';
import type { OpenedDownload, Staged } from './ports.js';
import type { Run } from './run.js';

type Found = Extract<OpenedDownload, { status: 'found' }>;

interface StagedContent {
  readonly staged: Staged;
  readonly plainHash: string;
}

/** Fetches a content too large for memory: decrypts it into the staging area, and names it once it is verified. */
export async function fetchStreamed(run: Run, operation: Fetching): Promise<void> {
  const { path, remote } = operation;
  const { disk, cipher } = run.parts;
  await checkRoom(disk, remote.encryptedSize);
  const encryptedPath = await cipher.encryptPath(path);
  const { contentHash, encryptedSize } = remote;
  const answer = await run.parts.remote.openDownload({ encryptedPath, contentHash, encryptedSize });
  if (answer.status === 'missing') {
    run.fail(operation, answer.reason);
    run.overtaken.add(path);
  } else if (answer.contentHash !== contentHash || answer.encryptedSize !== encryptedSize) {
    answer.cancel();
    run.overtaken.add(path);
  } else {
    const content = await staged(run, operation, answer);
    if (!content) return;
    try {
      await take(run, operation, { ...content, stage: () => Promise.resolve(content.staged) });
    } finally {
      await disk.discard(content.staged);
    }
  }
}

/** Stages the plaintext. Returns it only when it was verified to its end. */
async function staged(run: Run, operation: Fetching, answer: Found): Promise<StagedContent | undefined> {
  const { disk, cipher } = run.parts;
  const hash = createHash('sha256');
  try {
    const plaintext = cipher.decryptStream(answer.encryptedPath, answer.envelope);
    const content = await disk.stage(hashedInto(hash, plaintext));
    return { staged: content, plainHash: hash.digest('hex') };
  } catch (error) {
    if (error instanceof DoesNotOpen) run.fail(operation, doesNotOpen(error));
    else if (error instanceof TransferFailed) {
      run.fail(operation, error.message);
      run.overtaken.add(operation.path); // may have changed during the download: the log tells
    } else throw error;
    return undefined;
  }
}
