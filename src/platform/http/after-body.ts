import type { IncomingMessage } from 'node:http';

/** Throws what the caller is answered when something holds no longer. */
type Recheck = () => void | Promise<void>;

/** Not a WeakMap: until all memory is collected, its values are kept, and with these everything of their requests. */
const RECHECKS = Symbol('rechecks');

type Rechecked = IncomingMessage & { [RECHECKS]?: Recheck[] };

/**
 * Registers a check that is made again when the last byte of the body has come: an upload can take minutes, and what
 * was revoked, ended or switched off meanwhile must not be written.
 */
export function afterBody(request: Rechecked, recheck: Recheck): void {
  (request[RECHECKS] ??= []).push(recheck);
}

/** In the order of the guards. @throws what the first of them throws */
export async function recheck(request: Rechecked): Promise<void> {
  for (const one of request[RECHECKS] ?? []) await one();
}
