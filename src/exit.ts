import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { OperatorError } from './config/index.js';
import { Shutdown } from './platform/http/index.js';

/** In-flight requests have 25 s of it; nothing may keep a process that was told to end. */
const GIVE_UP_MS = 45_000;

/**
 * On a signal: not ready any more, then no new connection, in-flight requests finish (25 s at most), then pool and
 * database; exit 0. Further signals change nothing: a terminal's Ctrl-C comes twice, from it and through npm.
 */
export function drainOn(signals: NodeJS.Signals[], app: NestFastifyApplication): void {
  let isDraining = false;
  for (const signal of signals) {
    process.on(signal, () => {
      if (isDraining) return;
      isDraining = true;
      setTimeout(
        () => exitBecause(`the service has not ended within ${GIVE_UP_MS / 1_000} s`),
        GIVE_UP_MS,
      ).unref();
      void drain(app).then(() => process.exit(0), exitBecause);
    });
  }
}

async function drain(app: NestFastifyApplication): Promise<void> {
  await app.get(Shutdown).begin();
  await app.close();
}

/** A fault with a known cure is one sentence; anything else shows where it came from. Exit code 1. */
export function exitBecause(error: unknown): never {
  const text =
    error instanceof OperatorError
      ? error.message
      : error instanceof Error
        ? (error.stack ?? error.message)
        : String(error);
  process.stderr.write(`${text}\n`);
  process.exit(1);
}
