import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { OperatorError } from './platform/config/index.js';
import { Shutdown } from './platform/http/index.js';
import { Log } from './platform/log/index.js';

/** In-flight requests get 25 s of this; nothing may keep a process alive that was asked to stop. */
const GIVE_UP_MS = 45_000;

/**
 * On a signal: becomes not ready, stops accepting connections, lets in-flight requests finish (25 s at most), then closes pool
 * and database; exit code 0. Ignores further signals: Ctrl-C in a terminal arrives twice, directly and through npm.
 */
export function drainOn(signals: NodeJS.Signals[], app: NestFastifyApplication): void {
  let isDraining = false;
  for (const signal of signals) {
    process.on(signal, () => {
      if (isDraining) return;
      isDraining = true;
      app.get(Log).info({ signal }, 'the service is shutting down');
      setTimeout(
        () => exitBecause(`the service did not stop within ${GIVE_UP_MS / 1_000} s`),
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

/** Prints one sentence for a fault with a known fix, and a stack trace for any other error. Exit code 1. */
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
