import { OperatorError } from './config/index.js';

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
