import type { NestFastifyApplication } from '@nestjs/platform-fastify';

/** In-flight requests have 25 s of it; nothing may keep a process that was told to end. */
const GIVE_UP_MS = 35_000;

/** On a signal: no new connection, in-flight requests finish (25 s at most), then pool and database; exit 0. */
export function drainOn(signals: NodeJS.Signals[], app: NestFastifyApplication): void {
  let isDraining = false;
  for (const signal of signals) {
    process.on(signal, () => {
      if (isDraining) return;
      isDraining = true;
      setTimeout(() => process.exit(1), GIVE_UP_MS).unref();
      void app.close().then(
        () => process.exit(0),
        () => process.exit(1),
      );
    });
  }
}
