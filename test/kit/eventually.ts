import { setTimeout as pause } from 'node:timers/promises';

const LOOK_EVERY_MS = 10;
/** Longer than a slow machine takes for anything that happens; shorter for planted faults, where it may never happen. */
export const GIVE_UP_AFTER_MS = Number(process.env['GIVE_UP_AFTER_MS'] ?? 180_000);

/** Resolves with the result of `check` as soon as it succeeds: for what the service does after its answer. */
export async function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  for (const giveUpAt = Date.now() + GIVE_UP_AFTER_MS; ;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
      await pause(LOOK_EVERY_MS);
    }
  }
}
