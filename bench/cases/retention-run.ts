import { readFile } from 'node:fs/promises';
import { withService } from '../../src/admin/with-service.js';
import { Retention } from '../../src/retention/index.js';
import type { RetentionFigures } from './retention.js';

const MIB = 1024 * 1024;
const LOOK_EVERY_MS = 20;

/** Runs retention once and tells its parent what it took. */
await withService(async (service) => {
  const retention = service.get(Retention);
  // A first time over nothing, so that what any run needs is part of the idle process.
  await retention.run(new Date(0));
  const idle = await residentBytes();
  let peak = idle;
  const looking = setInterval(
    () => void residentBytes().then((bytes) => (peak = Math.max(peak, bytes))),
    LOOK_EVERY_MS,
  );
  const now = new Date();
  const started = performance.now();
  const { versions, blobs, longestLockMs } = await retention.run(now);
  const seconds = secondsSince(started);
  const startedAgain = performance.now();
  await retention.run(now);
  const againSeconds = secondsSince(startedAgain);
  clearInterval(looking);
  const figures: RetentionFigures = {
    versions,
    blobs,
    seconds,
    againSeconds,
    longestLockMs,
    idleMiB: Math.round(idle / MIB),
    peakMiB: Math.round(peak / MIB),
  };
  process.send?.(figures);
});

function secondsSince(started: number): number {
  return Math.round((performance.now() - started) / 100) / 10;
}

/** Of this process (Linux; elsewhere what Node knows of itself). */
async function residentBytes(): Promise<number> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(status)?.[1];
  return kilobytes === undefined ? process.memoryUsage.rss() : Number(kilobytes) * 1024;
}
