import { readFile } from 'node:fs/promises';
import { withService } from '../../src/operations/admin/with-service.js';
import { Retention } from '../../src/domain/retention/index.js';
import type { RetentionFigures } from './retention.js';

const MIB = 1024 * 1024;
const LOOK_EVERY_MS = 20;

/** Runs retention once and sends the measurements to the parent process. */
await withService(async (service) => {
  const retention = service.get(Retention);
  // A first run with nothing to do, so that the memory that any run needs counts as idle.
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

/** The resident set size of this process (Linux; elsewhere, Node's own figure). */
async function residentBytes(): Promise<number> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const kilobytes = /VmRSS:\s+(\d+) kB/.exec(status)?.[1];
  return kilobytes === undefined ? process.memoryUsage.rss() : Number(kilobytes) * 1024;
}
