import { rm } from 'node:fs/promises';

export default async function globalTeardown() {
  await globalThis.broker?.stop();
  await globalThis.embedded?.stop();
  for (const directory of [globalThis.dataDir, globalThis.memory])
    if (directory) await rm(directory, { recursive: true, force: true });
}
