import type { IncomingMessage } from 'node:http';

/** Throws what the caller is answered when something holds no longer. */
type Recheck = () => void | Promise<void>;

const rechecks = new WeakMap<IncomingMessage, Recheck[]>();

/**
 * Has something that a guard has found asked again when the last byte of the body has come: a client may take minutes over it,
 * and what has been revoked, or switched off, meanwhile must not be written.
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
