import type { NestFastifyApplication } from '@nestjs/platform-fastify';

const DRAIN_MS = 25_000;

/** On a signal: no new connection, in-flight requests finish (25 s at most), then pool and database; exit 0. */
export function drainOn(signals: NodeJS.Signals[], app: NestFastifyApplication): void {
  let isDraining = false;
  for (const signal of signals) {
    process.on(signal, () => {
      if (isDraining) return;
      isDraining = true;
      setTimeout(() => process.exit(1), DRAIN_MS + 10_000).unref();
      void app.close().then(
        () => process.exit(0),
        () => process.exit(1),
      );
    });
  }
}
