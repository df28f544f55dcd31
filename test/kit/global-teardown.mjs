import { rm } from 'node:fs/promises';

export default async function globalTeardown() {
  await globalThis.broker?.stop();
  await globalThis.embedded?.stop();
  if (globalThis.dataDir) await rm(globalThis.dataDir, { recursive: true, force: true });
}
