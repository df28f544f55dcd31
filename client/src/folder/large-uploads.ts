import { createHash } from 'node:crypto';
import { checkRoom, hashedInto } from './contents.js';
import { DiskError, type DiskFailure } from './errors.js';
import { ENVELOPE_OVERHEAD } from './plan.js';
import type { Run } from './run.js';
import { isSynced, prepared, recorded, send, type UploadOperation } from './sending.js';

/** Held, with their envelope, where the disk has no room for the envelope. */
const MOST_IN_MEMORY = 64 * 1024 * 1024;
const TAKES_NOTHING: readonly DiskFailure[] = ['full', 'read-only', 'denied'];

/** A disk that takes nothing still sends what can be held in memory after all. */
export async function sendLarge(run: Run, operation: UploadOperation): Promise<void> {
  try {
    await sendStaged(run, operation);
  } catch (error) {
    const isHindered = error instanceof DiskError && TAKES_NOTHING.includes(error.failure);
    if (!isHindered || operation.local.stat.size > MOST_IN_MEMORY) throw error;
    const item = await prepared(run, operation);
    if (item) await send(run, new Map([[item.upload.encryptedPath, item]]));
  }
}

/**
 * The hash of the envelope is needed before its first byte, and attempts are repeated with the same
 * bytes, so the envelope is written to the disk first. To encrypt again for each attempt would need no room, but a file
 * that changes in between would be encrypted under a key and nonce that were used before, which reveals both contents.
 */
async function sendStaged(run: Run, operation: UploadOperation): Promise<void> {
  const { disk, clock, cipher } = run.parts;
  const { path, local } = operation;
  run.options.onProgress?.({ doing: 'upload', path });
  const length = local.stat.size + ENVELOPE_OVERHEAD;
  await checkRoom(disk, length);
  const encryptedPath = await cipher.encryptPath(path);
  const [plainHash, contentHash] = [createHash('sha256'), createHash('sha256')];
  const lookedAt = clock.now();
  const content = hashedInto(plainHash, disk.read(local.diskPath, local.stat));
  const staged = await disk.stage(hashedInto(contentHash, cipher.encryptStream(encryptedPath, content)));
  try {
    const looked = { hash: plainHash.digest('hex'), stat: local.stat, lookedAt };
    if (isSynced(run, operation, looked)) return;
    const envelope = { open: () => disk.readStaged(staged), length };
    const upload = { encryptedPath, contentHash: contentHash.digest('hex'), envelope };
    await send(run, new Map([[encryptedPath, recorded(run, operation, looked, upload)]]));
  } finally {
    await disk.discard(staged);
  }
}
