import type { IncomingMessage } from 'node:http';

/** Throws what the caller is answered when something holds no longer. */
type Recheck = () => void | Promise<void>;

const rechecks = new WeakMap<IncomingMessage, Recheck[]>();

/**
 * Registers a check that is made again when the last byte of the body has come: an upload can take minutes, and what
 * was revoked, ended or switched off meanwhile must not be written.
 */
export function afterBody(request: IncomingMessage, recheck: Recheck): void {
  const known = rechecks.get(request);
  if (known) known.push(recheck);
  else rechecks.set(request, [recheck]);
}

/** In the order of the guards. @throws what the first of them throws */
export async function recheck(request: IncomingMessage): Promise<void> {
  for (const one of rechecks.get(request) ?? []) await one();
}
