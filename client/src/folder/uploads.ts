import { bySize, inBatches } from './batches.js';
import { sendLarge } from './large-uploads.js';
import type { Run } from './run.js';
import { prepared, type Ready, send, type UploadOperation } from './sending.js';

/** Uploads local contents, each as a replacement of exactly the version that it was made from. */
export async function sendFiles(run: Run, operations: readonly UploadOperation[]): Promise<void> {
  const sizeOf = ({ local }: UploadOperation): number => local.stat.size;
  const { small, large } = bySize(operations, sizeOf, run.options.streamAbove);
  for (const batch of inBatches(small, sizeOf)) {
    const ready = new Map<string, Ready>();
    for (const operation of batch)
      await run.attempt(operation, async () => {
        const item = await prepared(run, operation);
        if (item) ready.set(item.upload.encryptedPath, item);
      });
    if (ready.size > 0) await send(run, ready);
    await run.settle();
  }
  for (const operation of large) {
    await run.attempt(operation, () => sendLarge(run, operation));
    await run.settle();
  }
}
