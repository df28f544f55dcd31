import { createHash } from 'node:crypto';
import { checkRoom, hashedInto } from './contents.js';
import { DiskError, type DiskFailure } from './errors.js';
import { ENVELOPE_OVERHEAD } from './plan.js';
import type { Run } from './run.js';
import { isSynced, prepared, recorded, send, type UploadOperation } from './sending.js';

/** Files up to this size are held in memory with their envelope when the disk has no room for the envelope. */
const MOST_IN_MEMORY = 64 * 1024 * 1024;
const TAKES_NOTHING: readonly DiskFailure[] = ['full', 'read-only', 'denied'];

/** On a disk that cannot stage the envelope, sends it from memory if it is small enough. */
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
 * The request needs the hash of the envelope before its first byte, and retries send the same bytes, so the envelope is
 * staged on disk first. Danger: encrypting anew for each attempt would need no disk space, but a file that changes in
 * between would be encrypted under a reused key and nonce, which reveals both contents.
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
